/** Texts made of an object, kept as long as the object: some answers are handed out again and again, identity most of all. */

/** A function that makes the text of each object once. What is no object is made anew each time. */
export function keptText<Value>(make: (value: Value) => string): (value: Value) => string {
  const texts = new WeakMap<object, string>();
  return (value) => {
    if (typeof value !== 'object' || value === null) return make(value);
    const known = texts.get(value);
    if (known !== undefined) return known;
    const text = make(value);
    texts.set(value, text);
    return text;
  };
}
