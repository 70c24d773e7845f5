import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { execPath } from 'node:process'
import { test } from 'node:test'

/** Parsed output of a module that runs with frozen intrinsics. */
function printed(body: string): unknown {
  const module = `import { freezeIntrinsics } from ${JSON.stringify(new URL('./freeze-intrinsics.ts', import.meta.url).href)}
freezeIntrinsics()
${body}`
  return JSON.parse(execFileSync(execPath, ['--input-type=module', '--eval', module], { encoding: 'utf8' }))
}

test('no input can change the intrinsics that all objects share', () => {
  const targets = [
    ...['Object', 'Array', 'String', 'Number', 'Boolean', 'Function', 'Date', 'RegExp', 'Map', 'Set', 'Promise', 'Error', 'Float64Array'],
    ...['Symbol', 'BigInt', 'WeakMap', 'ArrayBuffer', 'Iterator'],
  ].flatMap((name) => [name, `${name}.prototype`])
  const namespaces = ['Math', 'JSON', 'Reflect', 'Object.getPrototypeOf(Float64Array)', 'Object.getPrototypeOf([][Symbol.iterator]())']
  const expressions = [
    ...targets,
    ...namespaces,
    'Object.getPrototypeOf(async () => {})',
    'Object.getPrototypeOf(new Map().entries())',
    '[].push',
    '(() => 1).call',
  ]
  const writable = printed(`const open = []
for (const [name, target] of Object.entries({ ${expressions.map((target, at) => `${at}: ${target}`).join(', ')} })) {
  for (const key of ['polluted', ...Object.getOwnPropertyNames(target)]) {
    const before = Object.getOwnPropertyDescriptor(target, key)?.value
    try { target[key] = 'changed' } catch {}
    try { Object.defineProperty(target, key, { value: 'changed' }) } catch {}
    try { delete target[key] } catch {}
    if (!Object.is(Object.getOwnPropertyDescriptor(target, key)?.value, before)) open.push(name + ' ' + key)
  }
}
console.log(JSON.stringify(open))`)
  assert.deepEqual(writable, [])
})

test('objects may override properties that all objects inherit', () => {
  const values = printed(`class Own extends Error { constructor() { super('m'); this.name = 'Own' } }
const row = {}; row.constructor = 'x'; row.toString = 'y'
const list = [3]; list.forEach = () => 'own'
const format = () => 1; format.toString = () => 'format'
console.log(JSON.stringify([row, Object.keys(row), list.forEach(), String(format), new Own().name, [1, 2].map((n) => n * 2), 'abc'.replace(/b/, 'x')]))`)
  assert.deepEqual(values, [{ constructor: 'x', toString: 'y' }, ['constructor', 'toString'], 'own', 'format', 'Own', [2, 4], 'axc'])
})
