// Small helpers for making and finding elements.

export const find = (id) => document.getElementById(id);

/** Make an element; attributes by name, `text` and `on…` too, then its children. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

export const text64 = (values) => btoa(String.fromCharCode(...values));

/** Draw gray bytes as a picture, ink in the colour of the text. */
export function paint(canvas, pixels, side) {
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d");
  const image = context.createImageData(side, side);
  const [red, green, blue] = inkColour();
  pixels.forEach((value, place) => image.data.set([red, green, blue, value], 4 * place));
  context.putImageData(image, 0, 0);
}

export function inkColour() {
  const [, ...parts] = getComputedStyle(document.body).color.match(/(\d+)\D+(\d+)\D+(\d+)/);
  return parts.map(Number);
}

/** Values kept for the next visit, or for this tab, where the browser allows it. */
export const kept = {
  get: (key, where = "localStorage") => {
    try {
      return window[where].getItem(key);
    } catch {
      return null;
    }
  },
  set: (key, value, where = "localStorage") => {
    try {
      window[where].setItem(key, value);
    } catch {
      // nothing is kept then
    }
  },
};

export const percent = (value) => `${value.toFixed(1)} %`;
