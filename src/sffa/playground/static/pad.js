// The drawing area: mouse, touch, pen, keyboard and pictures.

import { inkColour } from "./dom.js";
import { framePicture, frameStrokes, trace } from "./frame.js";

const STEP = 0.03; // of the pen by an arrow key
const MOVES = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };

export class Pad {
  /** `changed` is called after every change, `ended` after a whole stroke. */
  constructor(canvas, size, { changed, ended, enter, digit }) {
    Object.assign(this, { canvas, size, changed, ended, enter, digit });
    this.strokes = [];
    this.picture = null; // gray bytes that were not drawn here: an example, or a dropped image
    this.pen = { x: 0.5, y: 0.3, down: false, shown: false };
    this.guest = false; // what the page drew by itself makes way for the first own stroke
    this.listen();
  }

  get empty() {
    return !this.strokes.length && !this.picture;
  }

  /** The gray bytes (size x size) that networks see. */
  pixels() {
    return this.picture ?? frameStrokes(this.strokes, this.size);
  }

  clear() {
    this.strokes = [];
    this.picture = null;
    this.pen.down = this.guest = false;
    this.update();
  }

  undo() {
    this.strokes.pop();
    this.picture = null;
    this.update();
  }

  show(strokes) {
    this.picture = null;
    this.strokes = strokes;
    this.guest = true;
    this.update();
  }

  showPixels(pixels) {
    this.strokes = [];
    this.picture = pixels;
    this.guest = true;
    this.update();
  }

  showPicture(picture) {
    const pixels = framePicture(picture, this.size);
    if (!pixels.some((value) => value > 100)) throw new Error("nothing can be seen in this image");
    this.showPixels(pixels);
  }

  begin(point) {
    if (this.guest || this.picture) {
      this.strokes = [];
      this.picture = null;
      this.guest = false;
    }
    this.strokes.push([point]);
    this.update();
  }

  extend(point) {
    const stroke = this.strokes.at(-1);
    if (!stroke) return this.begin(point);
    const [x, y] = stroke.at(-1);
    if (Math.hypot(point[0] - x, point[1] - y) < 0.004) return;
    stroke.push(point);
    this.update();
  }

  update() {
    this.redraw();
    this.changed();
  }

  listen() {
    const { canvas } = this;
    let drawing = null;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button > 0 || drawing !== null) return;
      drawing = event.pointerId;
      canvas.setPointerCapture(drawing);
      this.pen.shown = false;
      this.begin(place(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      if (event.pointerId !== drawing) return;
      for (const part of event.getCoalescedEvents?.() ?? [event]) this.extend(place(part));
    });
    const end = (event) => {
      if (event.pointerId !== drawing) return;
      drawing = null;
      this.ended();
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => {
      this.pen.shown = this.pen.down = false;
      this.redraw();
    });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { pen } = this;
    if (event.key in MOVES) {
      const [right, down] = MOVES[event.key];
      pen.x = Math.min(0.97, Math.max(0.03, pen.x + right));
      pen.y = Math.min(0.97, Math.max(0.03, pen.y + down));
      pen.shown = true;
      if (pen.down) this.extend([pen.x, pen.y]);
      else this.redraw();
    } else if (event.key === " ") {
      pen.down = !pen.down;
      pen.shown = true;
      if (pen.down) this.begin([pen.x, pen.y]);
      else this.ended();
      this.redraw();
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.clear();
    } else if (event.key === "Enter") {
      this.enter();
    } else if (/^\d$/.test(event.key)) {
      this.digit(Number(event.key));
    } else return;
    event.preventDefault();
  }

  redraw() {
    const { canvas, pen } = this;
    const context = canvas.getContext("2d");
    const side = canvas.width;
    context.clearRect(0, 0, side, side);
    const ink = `rgb(${inkColour().join(",")})`;
    if (this.picture) this.drawPicture(context, side);
    context.lineCap = context.lineJoin = "round";
    context.strokeStyle = ink;
    context.lineWidth = side / 13;
    for (const stroke of this.strokes) {
      trace(context, stroke.map(([x, y]) => [side * x, side * y]));
    }
    if (!pen.shown) return;
    context.lineWidth = 4;
    context.strokeStyle = getComputedStyle(document.body).getPropertyValue("--accent");
    context.fillStyle = context.strokeStyle;
    context.beginPath();
    context.arc(side * pen.x, side * pen.y, side / 26, 0, 2 * Math.PI);
    if (pen.down) context.fill();
    context.stroke();
  }

  drawPicture(context, side) {
    const [red, green, blue] = inkColour();
    const image = new ImageData(this.size, this.size);
    this.picture.forEach((value, place) => image.data.set([red, green, blue, value], 4 * place));
    const small = document.createElement("canvas");
    small.width = small.height = this.size;
    small.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, side, side);
  }
}
