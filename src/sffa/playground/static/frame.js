// What is drawn becomes what the networks were trained on: as large as MNIST's digits, the ink's
// centre of mass in the middle, strokes of one thickness.

const BOX = 20 / 28; // the longer side of a digit, as a share of the picture
const PEN = 2.6 / 28;

/** Return the gray bytes (size x size) of strokes, lists of points [x, y] in any unit. */
export function frameStrokes(strokes, size) {
  const points = strokes.flat();
  if (!points.length) return new Uint8Array(size * size);
  const [left, right] = extent(points.map((point) => point[0]));
  const [top, bottom] = extent(points.map((point) => point[1]));
  const scale = (size * (BOX - PEN)) / Math.max(right - left, bottom - top, 0.05);
  const place = ([x, y]) => [scale * (x - (left + right) / 2), scale * (y - (top + bottom) / 2)];
  return centred(size, (context) => {
    context.lineWidth = PEN * size;
    for (const stroke of strokes) trace(context, stroke.map(place));
  });
}

/** Draw a stroke as a smooth line; a single point is a dot. */
export function trace(context, points) {
  context.beginPath();
  context.moveTo(...points[0]);
  for (let place = 1; place < points.length - 1; place++) {
    const [[x, y], [nextX, nextY]] = [points[place], points[place + 1]];
    context.quadraticCurveTo(x, y, (x + nextX) / 2, (y + nextY) / 2);
  }
  context.lineTo(...points.at(-1));
  context.stroke();
}

/** Return the gray bytes (size x size) of a picture, white on black or black on white. */
export function framePicture(picture, size) {
  const ink = inkOf(picture);
  const box = boxOf(ink);
  if (!box) return new Uint8Array(size * size);
  const scale = (size * BOX) / Math.max(box.width, box.height);
  return centred(size, (context) => {
    context.drawImage(
      ink, box.left, box.top, box.width, box.height,
      (-scale * box.width) / 2, (-scale * box.height) / 2, scale * box.width, scale * box.height,
    );
  });
}

function extent(values) {
  return [Math.min(...values), Math.max(...values)];
}

/** Draw around the middle, then again with the centre of mass there. */
function centred(size, draw) {
  const once = drawn(size, 0, 0, draw);
  let mass = 0, across = 0, down = 0;
  once.forEach((value, place) => {
    mass += value;
    across += value * ((place % size) + 0.5);
    down += value * (Math.floor(place / size) + 0.5);
  });
  return mass ? drawn(size, size / 2 - across / mass, size / 2 - down / mass, draw) : once;
}

function drawn(size, right, down, draw) {
  const context = blank(size, size).getContext("2d", { willReadFrequently: true });
  context.translate(size / 2 + right, size / 2 + down);
  context.lineCap = context.lineJoin = "round";
  context.imageSmoothingQuality = "high";
  context.strokeStyle = "#000";
  draw(context);
  const { data } = context.getImageData(0, 0, size, size);
  return Uint8Array.from({ length: size * size }, (_, place) => data[4 * place + 3]);
}

function blank(width, height) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  return canvas;
}

/** Return a picture as ink on nothing; what its border shows most is taken for paper. */
function inkOf(picture) {
  const scale = Math.min(1, 256 / Math.max(picture.width, picture.height));
  const width = Math.max(1, Math.round(picture.width * scale));
  const height = Math.max(1, Math.round(picture.height * scale));
  const canvas = blank(width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, height);
  context.drawImage(picture, 0, 0, width, height);
  const image = context.getImageData(0, 0, width, height);
  const gray = (place) =>
    0.299 * image.data[4 * place] + 0.587 * image.data[4 * place + 1] + 0.114 * image.data[4 * place + 2];
  const border = [];
  for (let x = 0; x < width; x++) border.push(gray(x), gray((height - 1) * width + x));
  for (let y = 0; y < height; y++) border.push(gray(y * width), gray(y * width + width - 1));
  const paper = border.sort((a, b) => a - b)[border.length >> 1];
  const values = Array.from({ length: width * height }, (_, place) => Math.abs(gray(place) - paper));
  const most = values.reduce((a, b) => Math.max(a, b), 1);
  values.forEach((value, place) => {
    const share = most < 24 ? 0 : Math.min(1, Math.max(0, (value / most - 0.2) / 0.6));
    image.data.set([0, 0, 0, Math.round(255 * share)], 4 * place);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

function boxOf(ink) {
  const { data } = ink.getContext("2d").getImageData(0, 0, ink.width, ink.height);
  let left = ink.width, right = -1, top = ink.height, bottom = -1;
  for (let y = 0; y < ink.height; y++) {
    for (let x = 0; x < ink.width; x++) {
      if (data[4 * (y * ink.width + x) + 3] < 100) continue;
      [left, right] = [Math.min(left, x), Math.max(right, x)];
      [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
    }
  }
  return right < 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 };
}
