/**
 * Freezes the intrinsics of JavaScript: the constructors, namespaces and prototypes that every object of the process shares. An input may change
 * its own objects, but a write to a prototype throws and cannot affect the next input.
 *
 * A worker calls `freezeIntrinsics` after its modules are loaded and have run once.
 */
export function freezeIntrinsics(): void {
  const intrinsics = collectIntrinsics()
  for (const prototype of overridden()) allowOverrides(prototype)
  for (const intrinsic of intrinsics) Object.freeze(intrinsic)
}

const names = `Object Function Array String Number Boolean Symbol BigInt Date RegExp Promise Proxy \
Reflect Math JSON Intl Iterator Map Set WeakMap WeakSet WeakRef FinalizationRegistry ArrayBuffer \
SharedArrayBuffer DataView Atomics Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float16Array Float32Array \
Float64Array BigInt64Array BigUint64Array Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError`.split(
  ' ',
)

/** The named globals and everything reachable from them: `%TypedArray%`, prototypes of iterators, static and inherited methods. */
function collectIntrinsics(): Set<object> {
  const global = globalThis as unknown as Record<string, unknown>
  const unnamed = [function* () {}, async function* () {}, async () => {}, [][Symbol.iterator](), new Map().entries(), new Set().values()]
  const intrinsics = new Set<object>()
  // Iterator instances of the process are not frozen, only prototypes.
  const pending = [
    ...names.map((name) => global[name]),
    ...[...unnamed, ''[Symbol.iterator](), 'a'.matchAll(/a/g)].map(Object.getPrototypeOf),
  ] as unknown[]
  for (let value = pending.pop(); value !== undefined || pending.length > 0; value = pending.pop()) {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || value === globalThis || intrinsics.has(value))
      continue
    intrinsics.add(value)
    pending.push(Object.getPrototypeOf(value))
    for (const { value: property, get, set } of Object.values(Object.getOwnPropertyDescriptors(value))) pending.push(property, get, set)
  }
  return intrinsics
}

/** Prototypes whose properties libraries and data override: `toString`, `name` or `constructor` of objects, functions, lists, errors and rows. */
function overridden(): object[] {
  const errors = [Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]
  return [Object.prototype, Function.prototype, Array.prototype, ...errors.map((error) => error.prototype as object)]
}

/** A frozen property of a prototype cannot be assigned on an inheriting object. An accessor accepts the assignment for that object alone. */
function allowOverrides(prototype: object): void {
  for (const [name, { value, writable, enumerable, configurable }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (!writable || !configurable) continue
    Object.defineProperty(prototype, name, {
      get: () => value as unknown,
      set(this: object, assigned: unknown) {
        if (this === prototype) throw new TypeError(`${name} of a prototype cannot be changed.`)
        Object.defineProperty(this, name, { value: assigned, writable: true, enumerable: true, configurable: true })
      },
      enumerable: enumerable ?? false,
      configurable: false,
    })
  }
}
