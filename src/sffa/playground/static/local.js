// The same answers without a server: a network of the page's own, its forward pass written out.

import { bytes } from "./dom.js";

export class Local {
  teaches = false;

  constructor(model) {
    this.about = model.about;
    this.model = model;
    this.nets = new Map(model.networks.map((net) => [net.about.algorithm, opened(net, model)]));
  }

  network = async (algorithm) => ({ ...this.nets.get(algorithm).about, classes: this.about.classes });
  example = async (label, number) => {
    const known = this.model.examples[label];
    return { pixels: known[number % known.length] };
  };
  memory = async () => this.model.memory;
  read = async (algorithm, pixels, look) => ({
    ...reading(this.nets.get(algorithm), pooled(bytes(pixels), this.about), look),
    classes: this.about.classes,
  });

  /** Show a run that was made when the page was, part by part. */
  async parts(algorithm, tell) {
    const { parts, methods } = this.model.parts;
    const slow = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    const steps = parts.length * methods.length;
    for (let step = 1; step <= steps; step++) {
      const shown = methods.map((method, place) => {
        const rows = Math.floor((step + methods.length - 1 - place) / methods.length);
        return { ...method, rows: method.rows.slice(0, rows) };
      });
      tell({ progress: step / steps, result: { parts, methods: shown } });
      if (slow) await new Promise((done) => setTimeout(done, 250));
    }
    return this.model.parts;
  }
}

/** Return the mean of each block of a drawing's pixels, as the networks see them. */
function pooled(fine, { side, fine: block }) {
  const size = side * block;
  return Float32Array.from({ length: side * side }, (_, place) => {
    const top = block * Math.floor(place / side), left = block * (place % side);
    let sum = 0;
    for (let y = 0; y < block; y++) {
      for (let x = 0; x < block; x++) sum += fine[(top + y) * size + left + x];
    }
    return Math.round(sum / (block * block)) / 255;
  });
}

function opened(net, { mean, std }) {
  const layers = net.layers.map((layer) => ({
    ...layer,
    image: dequantised(layer.image),
    latent: layer.latent && dequantised(layer.latent),
    label: new Float32Array(bytes(layer.label).buffer),
  }));
  return { ...net, mean, std, layers };
}

/** Return weights (inputs x width) kept as eight bits with a scale for each neuron. */
function dequantised({ values, scales }) {
  const scale = new Float32Array(bytes(scales).buffer);
  const whole = new Int8Array(bytes(values).buffer);
  return Float32Array.from(whole, (value, place) => value * scale[place % scale.length]);
}

/** Return each label's goodness by layer, and the latents under one of them. */
export function reading(net, picture, look) {
  const x = picture.map((value) => (value - net.mean) / net.std);
  const images = net.layers.map((layer) => product(x, layer.image, layer.width));
  const answers = Array.from({ length: net.classes }, (_, label) => scan(net, images, label));
  const by_layer = net.layers.map((_, depth) => answers.map((answer) => answer.scores[depth]));
  const scores = answers.map(({ scores }) => scores.reduce((a, b) => a + b) / scores.length);
  const best = scores.indexOf(Math.max(...scores));
  const shown = look ?? best;
  return { best, shown, scores, by_layer, layers: answers[shown].latents };
}

function product(x, weights, width) {
  const sums = new Float32Array(width);
  x.forEach((value, row) => {
    if (value) for (let j = 0; j < width; j++) sums[j] += value * weights[row * width + j];
  });
  return sums;
}

/** Pass a picture through the layers under one label. */
function scan(net, images, label) {
  const scores = [], latents = [];
  let below = null;
  net.layers.forEach((layer, depth) => {
    const { width } = layer;
    const drive = images[depth].map((value, j) => value + layer.label[label * width + j]);
    if (below) product(below, layer.latent, width).forEach((value, j) => (drive[j] += value));
    const halves = net.winners ? [0, 1] : [0];
    const size = width / halves.length;
    const latent = new Float32Array(width);
    const energies = halves.map((half) => {
      const own = layer.gate?.[label][half] ?? Array.from({ length: size }, (_, j) => half * size + j);
      const awake = net.winners ? largest(own, drive, net.winners) : own;
      for (const j of awake) latent[j] = net.sigmoid ? 1 / (1 + Math.exp(-drive[j])) : Math.max(0, drive[j]);
      return awake.reduce((sum, j) => sum + latent[j] ** 2, 0);
    });
    const [up, down] = energies;
    scores.push(net.winners ? (up + 1e-9) / (up + down + 2e-9) : up * net.scale);
    latents.push(Array.from(latent));
    below = latent.map((value, j) => value / Math.sqrt(Math.max(energies[Math.floor(j / size)], 1e-12)));
  });
  return { scores, latents };
}

function largest(places, drive, count) {
  return [...places].sort((a, b) => drive[b] - drive[a]).slice(0, count);
}
