/** A function that computes its value for an object once, and keeps it for as long as the object lives. */
export function onceFor<Key extends object, Value extends object | string>(
  compute: (key: Key) => Value,
): (key: Key) => Value {
  const kept = new WeakMap<Key, Value>();
  return (key) => {
    const value = kept.get(key) ?? compute(key);
    kept.set(key, value);
    return value;
  };
}
