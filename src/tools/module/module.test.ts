import { test, type TestContext } from 'node:test'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import type { ArtifactUse, JsonObject, JsonValue } from '../../agent/messages.ts'
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import { contextOf } from '../../agent/react-fixture.ts'
import type { ToolSpec } from '../builder.ts'
import type { ModuleLimits } from './module-process.ts'
import { hashModule } from './module-hash.ts'
import { createModule } from './module.ts'

interface Options {
  spec?: Partial<ToolSpec>
  limits?: Partial<ModuleLimits>
  environment?: Record<string, string>
  signal?: AbortSignal
  /** The path of the entry. */
  at?: string
  /** Under a gate: only the first files are accepted. */
  isPinned?: boolean
}

/** A module in its own temporary folder. */
async function open(
  t: TestContext,
  files: Record<string, string>,
  { spec, limits, environment = {}, signal, at = 'mine.ts', isPinned = false }: Options = {},
) {
  const folder = await mkdtemp(path.join(tmpdir(), 'module-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const write = async (name: string, text: string) => {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
    await writeFile(path.join(folder, name), text)
  }
  for (const [name, text] of Object.entries(files)) await write(name, text)
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) })
  const group = await createModule(
    { name: 'mine', timeoutMs: 30_000, maxOutputCharacters: 20_000, config: { path: at }, ...spec },
    { configDir: folder, environment, log, ...(isPinned && { filesHash: await hashModule(folder, at) }), ...(signal && { signal }) },
    limits,
  )
  t.after(() => group.close?.())
  const tool = (): Tool => {
    assert.equal(group.unavailableReason?.(), undefined)
    return group.tools()[0] ?? assert.fail('there is no tool')
  }
  return {
    folder,
    write,
    tool,
    lines,
    trouble: () => group.unavailableReason?.(),
    call: async (input: JsonObject = {}, context: Partial<ToolContext> = {}): Promise<JsonValue> =>
      tool().execute(input, contextOf(context)),
    /** Resolves when the condition is true; otherwise the test times out. */
    async until(isSo: () => boolean) {
      while (!isSo()) await wait(10)
    },
  }
}

const moduleOf = (execute: string, before = '') => `import { defineTool } from 'agent-core'
${before}
export default defineTool({
  description: 'Does it.',
  schema: { type: 'object', properties: { n: { type: 'integer' } } },
  effect: 'read',
  execute: ${execute},
})
`

test('a module in any folder is a tool: types are stripped and the package is resolved', async (t) => {
  const { tool, call } = await open(t, { 'mine.ts': moduleOf('async ({ n }: { n?: number }) => ({ twice: (n ?? 0) * 2 })') })
  const { name, description, schema, effect, filters } = tool()
  assert.deepEqual({ name, description, effect, filters }, { name: 'mine', description: 'Does it.', effect: 'read', filters: false })
  assert.deepEqual(schema, { type: 'object', properties: { n: { type: 'integer' } } })
  assert.deepEqual(await call({ n: 21 }), { twice: 42 })
  assert.match((await tool().check({ n: 'many' })) ?? '', /^n must be integer/)
})

test('a plain object is accepted, in JavaScript too; the default effect is write, and the entry overrides the module', async (t) => {
  const plain = `export default { description: 'Plain.', schema: { type: 'object' }, execute() { return this.description } }`
  assert.equal((await open(t, { 'mine.mjs': plain }, { at: 'mine.mjs' })).tool().effect, 'write')
  const { tool, call } = await open(t, { 'mine.js': plain }, { at: './mine.js', spec: { effect: 'read', description: 'Ours.' } })
  assert.deepEqual(
    { effect: tool().effect, description: tool().description, call: await call() },
    { effect: 'read', description: 'Ours.', call: 'Plain.' },
  )
})

test('a schema may be written with TypeBox', async (t) => {
  const before = `import { Type } from 'typebox'\nconst schema = Type.Object({ city: Type.String(), days: Type.Optional(Type.Integer()) })`
  const { tool } = await open(t, { 'mine.ts': moduleOf('() => 1', before).replace(/schema: .+,/, 'schema,') })
  assert.equal(tool().check({}), 'city is required')
  assert.equal(tool().check({ city: 'Rome', days: 2 }), undefined)
})

test('a call has a context: headers, filters, call id, session, log and files', async (t) => {
  const execute = `async (_, { headers, filters, callId, session, log, artifact }) => {
    log('half way')
    const { id, size } = await artifact('a.bin', 'application/x-a', new Uint8Array([1, 2, 255]))
    await artifact('b.txt', 'text/plain', 'grün', { returned: true, uri: 'test://b' })
    return { headers, filters, callId, session, id, size }
  }`
  const { call } = await open(t, { 'mine.ts': moduleOf(execute).replace("effect: 'read'", 'filters: true') })
  const logged: string[] = []
  const artifacts: [string, string, number[], ArtifactUse | undefined][] = []
  const result = await call(
    {},
    {
      callId: 'c1',
      sessionId: 's1',
      headers: { 'stix-user': 'ann' },
      filters: [{ tool: 'mine', key: 'region', type: 'equals', value: 'North' }],
      log: (text) => logged.push(text),
      async artifact(name, type, bytes, use) {
        artifacts.push([name, type, [...bytes], use])
        return { id: 'f1', name, type, size: bytes.byteLength, sha256: 'aa', tool: 'mine', createdAt: 1 }
      },
    },
  )
  assert.deepEqual(result, {
    headers: { 'stix-user': 'ann' },
    filters: [{ key: 'region', type: 'equals', value: 'North' }],
    callId: 'c1',
    session: 's1',
    id: 'f1',
    size: 3,
  })
  assert.deepEqual(logged, ['half way'])
  assert.deepEqual(artifacts, [
    ['a.bin', 'application/x-a', [1, 2, 255], { isReturned: false }],
    ['b.txt', 'text/plain', [...Buffer.from('grün')], { isReturned: true, uri: 'test://b' }],
  ])
})

test('a call with filters is refused for a module that does not apply filters', async (t) => {
  const { call } = await open(t, { 'mine.ts': moduleOf('() => 1') })
  const filters = [{ tool: 'mine', key: 'region', type: 'equals', value: 'North' }] as const
  await assert.rejects(call({}, { filters }), /cannot be used with data filters/)
})

test('a file that cannot be kept is reported to the module', async (t) => {
  const { call } = await open(t, { 'mine.ts': moduleOf(`async (_, { artifact }) => artifact('a', 'text/plain', 'x')`) })
  await assert.rejects(call(), /^Error: The file a cannot be kept: .+$/)
  const bad = await open(t, { 'mine.ts': moduleOf(`async (_, { artifact }) => artifact('a', 'text/plain', 7)`) })
  await assert.rejects(bad.call(), /bytes must be a Uint8Array, an ArrayBuffer or a string \(mine\.ts:\d+\)$/)
})

test('a failure is reported with cause and line', async (t) => {
  const { call } = await open(t, {
    'mine.ts': moduleOf(
      `async ({ n }) => {
    if (n === 1) throw 'just a text'
    if (n === 2) throw new Error('no access', { cause: new Error('the token has expired') })
    return deep()
  }`,
      `import { deep } from './lib/deep.ts'`,
    ),
    'lib/deep.ts': `interface A {\n  a: 1\n}\nexport function deep(): A {\n  return JSON.parse('{')\n}`,
  })
  await assert.rejects(call({ n: 1 }), /^Error: just a text$/)
  await assert.rejects(call({ n: 2 }), /^Error: no access: the token has expired \(mine\.ts:9\)$/)
  await assert.rejects(call({ n: 3 }), /^Error: Expected property name .+ \(lib\/deep\.ts:5\)$/)
})

test('a value that JSON cannot represent is an error that names the path', async (t) => {
  const execute = `({ n }) => [{ rows: [{ total: 1n }] }, { at: new Date(0), no: undefined, list: [undefined] }, { f: () => 1 }, new Map(), undefined, { x: NaN }, { b: Buffer.from('a') }][n]`
  const { call } = await open(t, { 'mine.ts': moduleOf(execute) })
  await assert.rejects(call({ n: 0 }), /The result cannot be written as JSON: rows\[0\]\.total is a bigint/)
  assert.deepEqual(await call({ n: 1 }), { at: '1970-01-01T00:00:00.000Z', list: [null] })
  await assert.rejects(call({ n: 2 }), /f is a function/)
  await assert.rejects(call({ n: 3 }), /it is a Map/)
  assert.equal(await call({ n: 4 }), null)
  await assert.rejects(call({ n: 5 }), /x is NaN/)
  await assert.rejects(call({ n: 6 }), /b is bytes: keep them with context\.artifact/)
})

test('calls run concurrently', async (t) => {
  const { call } = await open(t, {
    'mine.ts': moduleOf(
      '({ n }) => new Promise((resolve) => { waiting.push(resolve); if (n === 2) for (const go of waiting) go(waiting.length) })',
      'const waiting: any[] = []',
    ),
  })
  assert.deepEqual(await Promise.all([call({ n: 1 }), call({ n: 2 })]), [2, 2])
})

test('a cancelled call aborts its signal', async (t) => {
  const { call } = await open(t, {
    'mine.ts': moduleOf(
      `(_, { signal, log }) => new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason)); log('waits') })`,
    ),
  })
  const leaving = new AbortController()
  await assert.rejects(call({}, { signal: leaving.signal, log: () => leaving.abort() }), /aborted/)
  await assert.rejects(call({}, { signal: AbortSignal.abort(new Error('late')) }), /late/)
})

test('an endless loop is ended with its process, and the next call gets a new process', { timeout: 20_000 }, async (t) => {
  const { call } = await open(
    t,
    { 'mine.ts': moduleOf(`({ n }) => { while (n === 1); return process.pid }`) },
    { limits: { graceMs: 100 } },
  )
  const before = await call()
  const [stuck, behind] = [call({ n: 1 }, { signal: AbortSignal.timeout(100) }), call({ n: 2 })]
  await assert.rejects(stuck, /The process of the tool has ended: another call of the tool did not stop/)
  await assert.rejects(behind, /did not stop when its time was up\. The next call has a new one\./)
  assert.notEqual(await call(), before)
})

test('a call that ignores its cancellation does not affect the others', async (t) => {
  const execute = `({ n }, { signal, log }) => n === 1 ? new Promise(() => {}) : new Promise((resolve) => { log('waits'); setTimeout(() => resolve(process.pid), n) })`
  const { call } = await open(t, { 'mine.ts': moduleOf(execute) }, { limits: { graceMs: 50 } })
  const before = await call({ n: 0 })
  const concurrent = call({ n: 500 })
  await assert.rejects(call({ n: 1 }, { signal: AbortSignal.timeout(20) }), /did not stop when its time was up/)
  assert.notEqual(await call({ n: 0 }), before)
  assert.equal(await concurrent, before)
})

test('a module that exits or runs out of memory fails only its own calls', async (t) => {
  const execute = `({ n }) => {
    if (n === 1) process.exit(3)
    if (n === 2) return new Promise(() => setTimeout(() => { throw new Error('nobody waits') }))
    if (n === 3) { const rows = []; for (;;) rows.push(new Array(1e6).fill(rows.length + 0.5)) }
    if (n === 4) process.abort()
    return 'fine'
  }`
  const { call, lines } = await open(t, { 'mine.ts': moduleOf(execute) })
  await assert.rejects(call({ n: 1 }), /The process of the tool has ended: it ended itself with code 3/)
  await assert.rejects(call({ n: 2 }), /The process of the tool has ended: nobody waits \(mine\.ts:9\)/)
  await assert.rejects(call({ n: 3 }), /it needed too much memory/)
  await assert.rejects(call({ n: 4 }), /The process of the tool has ended/)
  assert.equal(await call(), 'fine')
  assert.ok(
    lines.some(
      ({ msg, reason, tool }) => msg === 'A module failed outside of a call' && reason === 'nobody waits (mine.ts:9)' && tool === 'mine',
    ),
  )
})

test('an endless log of a step keeps its beginning', async (t) => {
  const { call } = await open(t, { 'mine.ts': moduleOf(`(_, { log }) => { for (let n = 0; n < 200_000; n++) log('0123456789') }`) })
  let logged = 0
  await call({}, { log: (text) => (logged += text.length) })
  assert.ok(logged > 80_000 && logged <= 100_000, String(logged))
})

test('a module that damages its channel harms only itself', async (t) => {
  const execute = `({ n }) => {
    for (const sent of ['ready', null, 7, {}, { type: 'result' }, { type: 'files' }, { type: 'error', call: 99 }]) process.send(sent)
    if (n === 1) process.disconnect()
    return 'fine'
  }`
  const { call } = await open(t, { 'mine.ts': moduleOf(execute) })
  assert.equal(await call(), 'fine')
  await assert.rejects(call({ n: 1 }), /The process of the tool has ended: it ended itself with code 0/)
  assert.equal(await call(), 'fine')
})

test('output of a module is logged under its name', async (t) => {
  const { call, lines, until } = await open(t, {
    'mine.ts': moduleOf(`() => { console.log('hello', { a: 1 }); console.error('oh'); return 1 }`),
  })
  await call()
  await until(() => lines.length >= 2)
  assert.deepEqual(lines.map(({ tool, line, level }) => [tool, line, level].join(' ')).sort(), ['mine hello { a: 1 } 30', 'mine oh 40'])
})

test('a module gets the variables of the operator, but not the secrets of the service', async (t) => {
  const names = ['MY_TOKEN', 'DATABASE_URL', 'SECRET_KEY', 'CALLBACK_SECRET', 'AWS_SECRET_ACCESS_KEY', 'S3_ENDPOINT']
  const environment = Object.fromEntries(names.map((name) => [name, 'x']))
  const { call } = await open(
    t,
    { 'mine.ts': moduleOf(`() => ${JSON.stringify(names)}.filter((name) => process.env[name])`) },
    { environment },
  )
  assert.deepEqual(await call(), ['MY_TOKEN'])
})

test('a fault is reported with file and line', { timeout: 60_000 }, async (t) => {
  const faults: [string, RegExp][] = [
    ['const a: number = 1\nexport default { a: ( }', /^mine\.ts:2: Expression expected$/],
    ['enum A { B }\nexport default 1', /^mine\.ts:1: TypeScript enum is not supported in strip-only mode$/],
    [
      `import type { A } from './a.ts'\nimport { b } from './none.ts'\nexport default { b }`,
      /^mine\.ts:2: Cannot find module 'none\.ts' imported from mine\.ts$/,
    ],
    [`\nimport { b } from 'no-such-package'\nexport default { b }`, /^mine\.ts:2: Cannot find package 'no-such-package'/],
    [`import { b } from './mine.ts'\nexport default { b }`, /^mine\.ts:1: The requested module .+ does not provide an export named 'b'$/],
    [`export const tool = 1`, /^mine\.ts: it has no default export/],
    [`\n\nexport default 7`, /^mine\.ts:3: the default export is not an object/],
    [`\nthrow new Error('no database')`, /^mine\.ts:2: no database$/],
    [
      `export default {}\nsetTimeout(() => {})\nPromise.reject(new Error('at once'))\nawait new Promise(() => setTimeout(() => {}, 1e6))`,
      /^mine\.ts:3: at once$/,
    ],
    [moduleOf('() => 1').replace("'read'", "'maybe'"), /^mine\.ts:6: effect must be 'read' or 'write'$/],
    [
      moduleOf('() => 1').replace('effect', 'effects'),
      /^mine\.ts:6: effects is not a field of a tool; the fields are description, schema, filters, effect, execute$/,
    ],
    [moduleOf('() => 1').replace("type: 'object'", "type: 'array'"), /^mine\.ts:5: schema must be a JSON Schema of an object/],
    [moduleOf('() => 1').replace("'integer'", "'int'"), /^mine\.ts:5: schema is not a JSON Schema: .+$/],
    [moduleOf('7'), /^mine\.ts:7: execute must be a function/],
    ['while (true);', /^mine\.ts: it did not finish loading within 0\.4 s$/],
  ]
  await Promise.all(
    faults.map(async ([text, reason]) => {
      const loadMs = text.startsWith('while') ? 400 : 20_000
      const { trouble } = await open(t, { 'mine.ts': text, 'a.ts': '' }, { limits: { loadMs } })
      assert.match(trouble() ?? 'no trouble', reason)
    }),
  )
  const script = await open(t, { 'mine.mjs': 'const a = 1\nexport default { a: ( }' }, { at: 'mine.mjs' })
  assert.match(script.trouble() ?? '', /^mine\.mjs:2: /)
  const missing = await open(t, {})
  assert.match(missing.trouble() ?? '', /^mine\.ts: there is no file mine\.ts$/)
})

test('an aborted build ends at once', { timeout: 5_000 }, async (t) => {
  const leaving = new AbortController()
  setTimeout(() => leaving.abort(), 200)
  const { trouble } = await open(t, { 'mine.ts': 'while (true);' }, { signal: leaving.signal })
  assert.equal(trouble(), undefined)
})

test('a change of the file or of an import is used by the next call', { timeout: 20_000 }, async (t) => {
  const { call, write, folder, until, tool, trouble } = await open(t, {
    'mine.ts': moduleOf('() => word', `import { word } from './lib/word.ts'`),
    'lib/word.ts': `export const word = 'one'`,
  })
  assert.equal(await call(), 'one')
  const reads = async (word: string) => {
    while ((await call().catch(String)) !== word) await wait(10)
  }
  await write('lib/word.ts', `export const word = 'two'`)
  await reads('two')
  // Some editors replace a file instead of writing to it.
  await write('lib/new.ts', `export const word = 'three'`)
  await rename(path.join(folder, 'lib/new.ts'), path.join(folder, 'lib/word.ts'))
  await reads('three')
  await write('mine.ts', moduleOf('() => 1').replace('Does it.', 'Does more.'))
  await until(() => tool().description === 'Does more.')
  await rm(path.join(folder, 'mine.ts'))
  await until(() => trouble() !== undefined)
  await write('mine.ts', moduleOf('() => 5'))
  await until(() => trouble() === undefined)
  assert.equal(await call(), 5)
})

test('a tool with a faulty file is unavailable, and recovers when the file is corrected', { timeout: 20_000 }, async (t) => {
  const { call, write, until, trouble, tool } = await open(t, { 'mine.ts': moduleOf('() => 1') })
  const before = tool()
  await write('mine.ts', 'export default {\n  description: ,\n}')
  await until(() => trouble() !== undefined)
  assert.equal(trouble(), 'mine.ts:2: Expression expected')
  await assert.rejects(before.execute({}, contextOf()), /^Error: The tool cannot be used: mine\.ts:2: Expression expected$/)
  // An import of a file that does not exist yet.
  await write('mine.ts', moduleOf('() => word', `import { word } from './lib/word.ts'`))
  await until(() => trouble()?.startsWith('mine.ts:2: Cannot find module') ?? false)
  await write('lib/word.ts', `export const word = 'there'`)
  await until(() => trouble() === undefined)
  assert.equal(await call(), 'there')
})

test(
  'a running call ends with the old version; a run that knows another definition cannot call the new version',
  { timeout: 20_000 },
  async (t) => {
    const { call, write, tool } = await open(t, {
      'mine.ts': moduleOf(`(_, { log }) => { log('began'); return new Promise((resolve) => setTimeout(() => resolve('old'), 1500)) }`),
    })
    const before = tool()
    const began = Promise.withResolvers<void>()
    const slow = call({}, { log: () => began.resolve() })
    await began.promise
    await write('mine.ts', moduleOf(`() => 'new'`).replace("effect: 'read'", "effect: 'write'"))
    while (tool().effect !== 'write') await wait(10)
    assert.equal(await call(), 'new')
    assert.equal(await slow, 'old')
    await assert.rejects(before.execute({}, contextOf()), /was changed during this run/)
  },
)

test('a link with a new target counts as a change', { timeout: 20_000 }, async (t) => {
  const files = { 'v1/mine.ts': moduleOf(`() => 'one'`), 'v2/mine.ts': moduleOf(`() => 'two'`) }
  const { call, folder, trouble } = await open(t, files, { at: 'now/mine.ts' })
  assert.match(trouble() ?? '', /^mine\.ts: there is no file now\/mine\.ts$/)
  for (const [target, word] of [
    ['v1', 'one'],
    ['v2', 'two'],
  ] as const) {
    await symlink(target, path.join(folder, 'next'))
    await rename(path.join(folder, 'next'), path.join(folder, 'now'))
    while ((await call().catch(() => undefined)) !== word) await wait(10)
  }
})

test('a module with accepted files keeps its version, loads no other files after a crash, and comes back with the accepted ones', async (t) => {
  const versionOf = (text: string) => moduleOf(`({ n }) => (n === 1 ? process.exit(3) : ${text})`, "import { word } from './word.ts'")
  const { write, call, trouble, until } = await open(
    t,
    { 'mine.ts': versionOf('word'), 'word.ts': "export const word = 'one'" },
    { isPinned: true },
  )
  await write('word.ts', "export const word = 'two'")
  // Longer than the watch of a module without accepted files takes.
  const slow = await open(t, { 'mine.ts': moduleOf("() => 'one'") })
  await slow.write('mine.ts', moduleOf("() => 'two'"))
  while ((await slow.call().catch(() => 'one')) !== 'two') await wait(10)
  assert.equal(await call(), 'one')
  await assert.rejects(call({ n: 1 }), /The process of the tool has ended/)
  await assert.rejects(call(), /The tool cannot be used: .*the files have changed, and the change has not passed the gate/)
  assert.match(trouble() ?? '', /has not passed the gate/)
  await write('word.ts', "export const word = 'one'")
  await until(() => trouble() === undefined)
  assert.equal(await call(), 'one')
})
