import { test, type TestContext } from 'node:test'
import type { ArtifactUse } from '../../agent/artifact.ts'
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import { contextOf } from '../../agent/context-fixture.ts'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import type { ToolSpec } from '../builder.ts'
import type { ModuleLimits } from './module-process.ts'
import { createModule } from './module.ts'

interface Options {
  spec?: Partial<ToolSpec>
  limits?: Partial<ModuleLimits>
  environment?: Record<string, string>
  signal?: AbortSignal
  /** Where the entry's path leads. */
  at?: string
}

/** A module in a folder of its own. */
async function open(
  t: TestContext,
  files: Record<string, string>,
  { spec, limits, environment = {}, signal, at = 'mine.ts' }: Options = {},
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
    { configDir: folder, environment, log, ...(signal && { signal }) },
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
    /** Resolves when something is so; the time-out of the test is its end where it never is. */
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

test('a module is a tool, with its types taken off and its package found wherever it lies', async (t) => {
  const { tool, call } = await open(t, { 'mine.ts': moduleOf('async ({ n }: { n?: number }) => ({ twice: (n ?? 0) * 2 })') })
  const { name, description, schema, effect, filters } = tool()
  assert.deepEqual([name, description, effect, filters], ['mine', 'Does it.', 'read', false])
  assert.deepEqual(schema, { type: 'object', properties: { n: { type: 'integer' } } })
  assert.deepEqual(await call({ n: 21 }), { twice: 42 })
  assert.match(tool().check({ n: 'many' }) ?? '', /^n must be integer/)
})

test('a plain object will do, in JavaScript too; it writes unless it says that it reads, and the entry has the last word', async (t) => {
  const plain = `export default { description: 'Plain.', schema: { type: 'object' }, execute() { return this.description } }`
  assert.equal((await open(t, { 'mine.mjs': plain }, { at: 'mine.mjs' })).tool().effect, 'write')
  const { tool, call } = await open(t, { 'mine.js': plain }, { at: './mine.js', spec: { effect: 'read', description: 'Ours.' } })
  assert.deepEqual([tool().effect, tool().description, await call()], ['read', 'Ours.', 'Plain.'])
})

test('a schema may be written with TypeBox', async (t) => {
  const before = `import { Type } from 'typebox'\nconst schema = Type.Object({ city: Type.String(), days: Type.Optional(Type.Integer()) })`
  const { tool } = await open(t, { 'mine.ts': moduleOf('() => 1', before).replace(/schema: .+,/, 'schema,') })
  assert.equal(tool().check({}), 'city is required')
  assert.equal(tool().check({ city: 'Rome', days: 2 }), undefined)
})

test('a call has its context: headers, filters, its id, its session, a log and files', async (t) => {
  const execute = `async (_, { headers, filters, callId, session, log, artifact }) => {
    log('half way')
    const { id, size } = await artifact('a.bin', 'application/x-a', new Uint8Array([1, 2, 255]))
    await artifact('b.txt', 'text/plain', 'grün', { returned: true, uri: 'test://b' })
    return { headers, filters, callId, session, id, size }
  }`
  const { call } = await open(t, { 'mine.ts': moduleOf(execute).replace("effect: 'read'", 'filters: true') })
  const logged: string[] = []
  const kept: [string, string, number[], ArtifactUse | undefined][] = []
  const result = await call(
    {},
    {
      callId: 'c1',
      sessionId: 's1',
      headers: { 'stix-user': 'ann' },
      filters: [{ tool: 'mine', key: 'region', type: 'equals', value: 'North' }],
      log: (text) => logged.push(text),
      async artifact(name, type, bytes, use) {
        kept.push([name, type, [...bytes], use])
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
  assert.deepEqual(kept, [
    ['a.bin', 'application/x-a', [1, 2, 255], { isReturned: false }],
    ['b.txt', 'text/plain', [...Buffer.from('grün')], { isReturned: true, uri: 'test://b' }],
  ])
})

test('a call with filters on a module without them is refused', async (t) => {
  const { call } = await open(t, { 'mine.ts': moduleOf('() => 1') })
  const filters = [{ tool: 'mine', key: 'region', type: 'equals', value: 'North' }] as const
  await assert.rejects(call({}, { filters }), /can not be used where its data is filtered/)
})

test('a file that can not be kept is told to the module', async (t) => {
  const { call } = await open(t, { 'mine.ts': moduleOf(`async (_, { artifact }) => artifact('a', 'text/plain', 'x')`) })
  await assert.rejects(call(), /^Error: The file a can't be kept: .+$/)
  const bad = await open(t, { 'mine.ts': moduleOf(`async (_, { artifact }) => artifact('a', 'text/plain', 7)`) })
  await assert.rejects(bad.call(), /bytes are a Uint8Array, an ArrayBuffer or a text \(mine\.ts:\d+\)$/)
})

test('a failure is told with its cause and its line', async (t) => {
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

test('what JSON can not say is an error that names where it stands', async (t) => {
  const execute = `({ n }) => [{ rows: [{ total: 1n }] }, { at: new Date(0), no: undefined, list: [undefined] }, { f: () => 1 }, new Map(), undefined, { x: NaN }, { b: Buffer.from('a') }][n]`
  const { call } = await open(t, { 'mine.ts': moduleOf(execute) })
  await assert.rejects(call({ n: 0 }), /The result can't be written as JSON: rows\[0\]\.total is a bigint/)
  assert.deepEqual(await call({ n: 1 }), { at: '1970-01-01T00:00:00.000Z', list: [null] })
  await assert.rejects(call({ n: 2 }), /f is a function/)
  await assert.rejects(call({ n: 3 }), /it is a Map/)
  assert.equal(await call({ n: 4 }), null)
  await assert.rejects(call({ n: 5 }), /x is NaN/)
  await assert.rejects(call({ n: 6 }), /b is bytes: keep them with context\.artifact/)
})

test('calls run side by side', async (t) => {
  const { call } = await open(t, {
    'mine.ts': moduleOf(
      '({ n }) => new Promise((resolve) => { waiting.push(resolve); if (n === 2) for (const go of waiting) go(waiting.length) })',
      'const waiting: any[] = []',
    ),
  })
  assert.deepEqual(await Promise.all([call({ n: 1 }), call({ n: 2 })]), [2, 2])
})

test('a cancelled call hears of it', async (t) => {
  const { call } = await open(t, {
    'mine.ts': moduleOf(
      `(_, { signal, log }) => new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason)); log('waits') })`,
    ),
  })
  const leaving = new AbortController()
  await assert.rejects(call({}, { signal: leaving.signal, log: () => leaving.abort() }), /aborted/)
  await assert.rejects(call({}, { signal: AbortSignal.abort(new Error('late')) }), /late/)
})

test('an endless loop is ended with its process, and the next call has a new one', { timeout: 20_000 }, async (t) => {
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

test('a call that ignores its end leaves the others in peace', async (t) => {
  const execute = `({ n }, { signal, log }) => n === 1 ? new Promise(() => {}) : new Promise((resolve) => { log('waits'); setTimeout(() => resolve(process.pid), n) })`
  const { call } = await open(t, { 'mine.ts': moduleOf(execute) }, { limits: { graceMs: 50 } })
  const before = await call({ n: 0 })
  const other = call({ n: 500 })
  await assert.rejects(call({ n: 1 }, { signal: AbortSignal.timeout(20) }), /did not stop when its time was up/)
  assert.notEqual(await call({ n: 0 }), before)
  assert.equal(await other, before)
})

test('a module that ends itself, or runs out of memory, fails its calls alone', async (t) => {
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

test('a step that logs without end keeps the beginning', async (t) => {
  const { call } = await open(t, { 'mine.ts': moduleOf(`(_, { log }) => { for (let n = 0; n < 200_000; n++) log('0123456789') }`) })
  let logged = 0
  await call({}, { log: (text) => (logged += text.length) })
  assert.ok(logged > 80_000 && logged <= 100_000, String(logged))
})

test('what a module does to its channel harms nobody but itself', async (t) => {
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

test('what a module writes is logged under its name', async (t) => {
  const { call, lines, until } = await open(t, {
    'mine.ts': moduleOf(`() => { console.log('hello', { a: 1 }); console.error('oh'); return 1 }`),
  })
  await call()
  await until(() => lines.length >= 2)
  assert.deepEqual(lines.map(({ tool, line, level }) => [tool, line, level].join(' ')).sort(), ['mine hello { a: 1 } 30', 'mine oh 40'])
})

test('a module has the variables of the operator and not the secrets of the service', async (t) => {
  const names = ['MY_TOKEN', 'DATABASE_URL', 'SECRET_KEY', 'CALLBACK_SECRET', 'AWS_SECRET_ACCESS_KEY', 'S3_ENDPOINT']
  const environment = Object.fromEntries(names.map((name) => [name, 'x']))
  const { call } = await open(
    t,
    { 'mine.ts': moduleOf(`() => ${JSON.stringify(names)}.filter((name) => process.env[name])`) },
    { environment },
  )
  assert.deepEqual(await call(), ['MY_TOKEN'])
})

test('a fault is told with file and line', { timeout: 60_000 }, async (t) => {
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
      /^mine\.ts:6: effects is not known; a tool has description, schema, filters, effect, execute$/,
    ],
    [moduleOf('() => 1').replace("type: 'object'", "type: 'array'"), /^mine\.ts:5: schema must be a JSON Schema of an object/],
    [moduleOf('() => 1').replace("'integer'", "'int'"), /^mine\.ts:5: schema is no JSON Schema: .+$/],
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
  const gone = await open(t, {})
  assert.match(gone.trouble() ?? '', /^mine\.ts: there is no file mine\.ts$/)
})

test('one that nobody waits for any more is not waited for', { timeout: 5_000 }, async (t) => {
  const leaving = new AbortController()
  setTimeout(() => leaving.abort(), 200)
  const { trouble } = await open(t, { 'mine.ts': 'while (true);' }, { signal: leaving.signal })
  assert.equal(trouble(), undefined)
})

test('a change of the file, or of one that it imports, is used by the next call', { timeout: 20_000 }, async (t) => {
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
  // As editors do it that replace files.
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

test('while its file is wrong a tool is not used, and it heals when the file is right', { timeout: 20_000 }, async (t) => {
  const { call, write, until, trouble, tool } = await open(t, { 'mine.ts': moduleOf('() => 1') })
  const before = tool()
  await write('mine.ts', 'export default {\n  description: ,\n}')
  await until(() => trouble() !== undefined)
  assert.equal(trouble(), 'mine.ts:2: Expression expected')
  await assert.rejects(before.execute({}, contextOf()), /^Error: The tool can not be used: mine\.ts:2: Expression expected$/)
  // Into a file that is not there yet.
  await write('mine.ts', moduleOf('() => word', `import { word } from './lib/word.ts'`))
  await until(() => trouble()?.startsWith('mine.ts:2: Cannot find module') ?? false)
  await write('lib/word.ts', `export const word = 'there'`)
  await until(() => trouble() === undefined)
  assert.equal(await call(), 'there')
})

test(
  'a call that is under way ends as it began; a run that was told of another tool is not given this one',
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
    await assert.rejects(before.execute({}, contextOf()), /was changed while this run was under way/)
  },
)

test('a link that leads to another file is a change', { timeout: 20_000 }, async (t) => {
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
