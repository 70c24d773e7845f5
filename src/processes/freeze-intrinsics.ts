/**
 * Freezes what JavaScript itself brings: the constructors, namespaces and prototypes that every object of the process shares. What an input makes of its own
 * objects ends with them; what it would write into a prototype is an error instead, and never meets the next input.
 *
 * A worker calls this once its modules are loaded and have worked for the first time.
 */
export function freezeIntrinsics(): void {
  const intrinsics = collectIntrinsics()
  for (const prototype of overridden()) allowOverrides(prototype)
  for (const intrinsic of intrinsics) Object.freeze(intrinsic)
}

const names = [
  ...[
    'Object',
    'Function',
    'Array',
    'String',
    'Number',
    'Boolean',
    'Symbol',
    'BigInt',
    'Date',
    'RegExp',
    'Promise',
    'Proxy',
    'Reflect',
    'Math',
  ],
  ...[
    'JSON',
    'Intl',
    'Iterator',
    'Map',
    'Set',
    'WeakMap',
    'WeakSet',
    'WeakRef',
    'FinalizationRegistry',
    'ArrayBuffer',
    'SharedArrayBuffer',
  ],
  ...['DataView', 'Atomics', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array'],
  ...['Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array'],
  ...['Error', 'AggregateError', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'],
]

/** The named globals, and everything that is reached from them: `%TypedArray%`, prototypes of iterators, static and inherited methods. */
function collectIntrinsics(): Set<object> {
  const global = globalThis as unknown as Record<string, unknown>
  const unnamed = [function* () {}, async function* () {}, async () => {}, [][Symbol.iterator](), new Map().entries(), new Set().values()]
  const found = new Set<object>()
  // Instances of the process itself are left alone; their prototypes are not.
  const pending = [
    ...names.map((name) => global[name]),
    ...[...unnamed, ''[Symbol.iterator](), 'a'.matchAll(/a/g)].map(Object.getPrototypeOf),
  ] as unknown[]
  for (let value = pending.pop(); value !== undefined || pending.length > 0; value = pending.pop()) {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || value === globalThis || found.has(value)) continue
    found.add(value)
    pending.push(Object.getPrototypeOf(value))
    for (const { value: own, get, set } of Object.values(Object.getOwnPropertyDescriptors(value))) pending.push(own, get, set)
  }
  return found
}

/** Libraries give objects, functions, lists and errors of theirs a `toString`, a `name` or a `constructor`, and data has columns of such names. */
function overridden(): object[] {
  const errors = [Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]
  return [Object.prototype, Function.prototype, Array.prototype, ...errors.map((error) => error.prototype as object)]
}

/** A frozen property of a prototype can't be assigned on an object that inherits it; an accessor takes the assignment for that object alone. */
function allowOverrides(prototype: object): void {
  for (const [name, { value, writable, enumerable, configurable }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (!writable || !configurable) continue
    Object.defineProperty(prototype, name, {
      get: () => value as unknown,
      set(this: object, assigned: unknown) {
        if (this === prototype) throw new TypeError(`${name} of a prototype can't be changed.`)
        Object.defineProperty(this, name, { value: assigned, writable: true, enumerable: true, configurable: true })
      },
      enumerable: enumerable ?? false,
      configurable: false,
    })
  }
}
