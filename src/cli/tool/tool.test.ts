import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { packageRoot } from '../../package-root.ts'
import { findEditorOptions } from '../project-files.ts'
import { startService } from '../../../test/fixtures/service.ts'
import { createFolder, runIn } from '../terminal-fixture.ts'

const input = JSON.stringify({ query: 'hello' })

test('a new tool works unchanged, and no existing file is overwritten', async (t) => {
  const folder = await createFolder(t)
  const created = await runIn(folder, ['tool', 'new', 'which_day'])
  assert.deepEqual({ code: created.code, err: created.err }, { code: 0, err: '' })
  assert.match(created.out, /^created tools\/which_day\.ts\ncreated tools\/tsconfig\.json.+\n/)
  assert.match(created.out, /- \{ name: which_day, type: module, config: \{ path: \.\/tools\/which_day\.ts \} \}/)
  const checked = await runIn(folder, ['tool', 'check', 'tools/which_day.ts', '--input', input])
  assert.equal(checked.code, 0)
  assert.match(
    checked.out,
    /^ok: which_day \(read\): Which day\. Say here .+\nwhich_day was called\.\nDone\.\n\{\n {2}"query": "hello"\n\}\n\d+ ms\n$/,
  )
  await writeFile(path.join(folder, 'tools/which_day.ts'), 'mine')
  const repeated = await runIn(folder, ['tool', 'new', 'which_day'])
  assert.deepEqual(
    { code: repeated.code, err: repeated.err },
    { code: 1, err: 'tools/which_day.ts already exists; nothing was changed.\n' },
  )
  assert.equal(await readFile(path.join(folder, 'tools/which_day.ts'), 'utf8'), 'mine')
})

test('a template has the description, the fields and the effect of the command line', async (t) => {
  const folder = await createFolder(t)
  const description = "Gives a customer's refund."
  const options = ['--description', description, '--fields', 'order_id, amount:number,day:date', '--effect', 'write']
  const { code, out } = await runIn(folder, ['tool', 'new', 'refund', ...options])
  assert.equal(code, 0)
  const [, example = ''] = /--input '(.+)'/.exec(out)!
  assert.deepEqual(JSON.parse(example), { order_id: 'example', amount: 1.5, day: '2026-01-31' })
  const checked = await runIn(folder, ['tool', 'check', 'tools/refund.ts', '--input', example])
  assert.ok(checked.out.startsWith(`ok: refund (write): ${description}\nrefund was called.\nDone.\n`), checked.out)
  assert.match((await runIn(folder, ['tool', 'check', 'tools/refund.ts', '--input', '{"order_id":"1","amount":"2"}'])).err, /amount|day/)
  for (const fields of ['a:money', 'a,a', '1a', 'a b', 'a:number:date', '__proto__', '']) {
    assert.equal((await runIn(folder, ['tool', 'new', 'other', '--fields', fields])).code, 2, fields)
  }
})

test('the printed entry is YAML for a folder of any name', async (t) => {
  const folder = await createFolder(t)
  const { out } = await runIn(folder, ['tool', 'new', 'days', '--dir', 'a, b: {c'])
  const [entry] = /^ {2}- .+$/m.exec(out)!
  assert.deepEqual(parse(entry), [{ name: 'days', type: 'module', config: { path: './a, b: {c/days.ts' } }])
})

test('editors find the types of an installed package, and a wrong use of the input is an error', async (t) => {
  const folder = await createFolder(t)
  const { out } = await runIn(folder, ['tool', 'new', 'days'])
  assert.match(out, /Editors find the types of agent-core where it is installed: agent-core init/)
  const settings = await readFile(path.join(folder, 'tools/tsconfig.json'), 'utf8')
  assert.doesNotMatch(settings, /\.\.\/|"\//)
  await mkdir(path.join(folder, 'node_modules'))
  await symlink(packageRoot, path.join(folder, 'node_modules/agent-core'))
  const compiler = path.join(packageRoot, 'node_modules/typescript/bin/tsc')
  const compile = () => promisify(execFile)(process.execPath, [compiler, '-p', path.join(folder, 'tools')])
  await compile()
  const file = path.join(folder, 'tools/days.ts')
  await writeFile(file, (await readFile(file, 'utf8')).replace('input.query', 'input.query.getTime()'))
  await assert.rejects(compile(), (error: Error & { stdout: string }) => /getTime/.test(error.stdout))
})

test('in a checkout, editors find the types in its own sources', () => {
  assert.deepEqual(findEditorOptions(path.join(packageRoot, 'tools')), { hasNodeTypes: true, types: '../src/tool-module.ts' })
})

test('a tool is added to the configuration, which keeps its comments', async (t) => {
  const folder = await createFolder(t)
  const file = path.join(folder, 'agent.yaml')
  await writeFile(file, '# ours\nid: mine\ntools: # all of them\n  - name: calculator # sums\n\n# the end\n')
  const { code, out } = await runIn(folder, ['tool', 'new', 'days', '--add', '--dir', 'src/own'])
  assert.equal(code, 0)
  assert.match(out, /added days to agent\.yaml/)
  const text = await readFile(file, 'utf8')
  for (const comment of ['# ours\n', 'tools: # all of them\n', '  - name: calculator # sums\n', '\n# the end\n'])
    assert.ok(text.includes(comment), comment)
  assert.match(text, /- name: days\n\s+type: module\n\s+config:\n\s+path: \.\/src\/own\/days\.ts\n/)
  assert.equal((await runIn(folder, ['config', 'check'])).code, 0)
  const doctor = await runIn(folder, ['tool', 'check', 'src/own/days.ts'])
  assert.match(doctor.out, /^ok: days/)
})

test('a file is added to the configuration, once, with all comments kept', async (t) => {
  const folder = await createFolder(t)
  const file = path.join(folder, 'agent.yaml')
  const tool = 'tools/which_day.ts'
  const before = '# ours\nid: mine\ntools: # all of them\n  - name: calculator # sums\n\n# the end\n'
  await mkdir(path.join(folder, 'tools'))
  await writeFile(path.join(folder, tool), 'export default {}')
  assert.match(
    (await runIn(folder, ['tool', 'add', tool])).err,
    /agent\.yaml does not exist; "agent-core serve --init" creates one\. Nothing/,
  )
  await writeFile(file, before)
  for (const [missing, text] of [
    ['tools/none.ts', /^tools\/none\.ts is no file; nothing was changed\. "agent-core tool new" writes one\.\n$/],
    ['tools', /^tools is no file/],
    ['agent.yaml', /^agent\.yaml must be a TypeScript or JavaScript file; nothing/],
  ] as const) {
    const refused = await runIn(folder, ['tool', 'add', missing])
    assert.deepEqual({ code: refused.code, out: refused.out }, { code: 1, out: '' })
    assert.match(refused.err, text)
  }
  assert.equal(await readFile(file, 'utf8'), before)

  const added = await runIn(folder, ['tool', 'add', tool])
  assert.equal(added.err, '')
  assert.match(
    added.out,
    /^added which_day to agent\.yaml:\n {2}- \{ name: which_day, type: module, config: \{ path: \.\/tools\/which_day\.ts \} \}\n/,
  )
  const text = await readFile(file, 'utf8')
  for (const line of before.split('\n')) assert.ok(text.includes(line), line)
  assert.deepEqual((parse(text) as { tools: object[] }).tools.at(1), {
    name: 'which_day',
    type: 'module',
    config: { path: './tools/which_day.ts' },
  })

  const repeated = await runIn(folder, ['tool', 'add', tool])
  assert.deepEqual(repeated, {
    code: 1,
    out: '',
    err: 'agent.yaml has the tool which_day already, which is this file; nothing was changed.\n',
  })
  const renamed = await runIn(folder, ['tool', 'add', tool, '--name', 'other'])
  assert.match(renamed.err, /has the tool which_day already, which is this file/)
  const doubled = await runIn(folder, ['tool', 'add', tool, '--name', 'calculator'])
  assert.match(doubled.err, /^agent\.yaml has the tool calculator already; nothing was changed/)
  await writeFile(path.join(folder, 'tools/2 days.ts'), '')
  assert.match((await runIn(folder, ['tool', 'add', 'tools/2 days.ts'])).err, /^"2 days" cannot name a tool\. .+ Or set --name\.\n$/)
  assert.equal(await readFile(file, 'utf8'), text)
})

test('an invalid tool name creates no file', async (t) => {
  const folder = await createFolder(t)
  for (const name of ['find_tools', 'two words', '../days']) {
    const { code, out } = await runIn(folder, ['tool', 'new', name])
    assert.deepEqual({ code, out }, { code: 2, out: '' }, name)
  }
  await assert.rejects(readdir(path.join(folder, 'tools')), { code: 'ENOENT' })
})

test('a tool that cannot be added changes nothing', async (t) => {
  const folder = await createFolder(t)
  const missing = await runIn(folder, ['tool', 'new', 'days', '--add'])
  assert.equal(missing.code, 1)
  assert.match(missing.err, /agent\.yaml does not exist; "agent-core serve --init" creates one/)
  await writeFile(path.join(folder, 'agent.yaml'), 'tools:\n  - { name: days, type: calculator }\n')
  const doubled = await runIn(folder, ['tool', 'new', 'days', '--add'])
  assert.deepEqual({ code: doubled.code, out: doubled.out }, { code: 1, out: '' })
  assert.match(doubled.err, /days/)
  assert.match((await runIn(folder, ['tool', 'check', 'tools/days.ts'])).err, /^days\.ts: there is no file \//)
  for (const name of ['', '../x', 'a b', 'ä', '-x', 'x'.repeat(65)]) {
    assert.equal((await runIn(folder, ['tool', 'new', '--', name])).code, 2, name)
  }
})

test('errors of a file are reported with their line, and its output is shown', async (t) => {
  const folder = await createFolder(t)
  await writeFile(path.join(folder, 'a.ts'), `export default {\n  description: 'A',\n  schema: 7,\n  execute() {},\n}\n`)
  assert.deepEqual(await runIn(folder, ['tool', 'check', 'a.ts']), {
    code: 1,
    out: '',
    err: "a.ts:3: schema must be a JSON Schema of an object: {type: 'object', properties: {...}}\n",
  })
  const execute = `async execute({ n }, { artifact }) {\n console.log('here')\n if (n) throw new Error('no')\n await artifact('a.txt', 'text/plain', 'abc')\n return { n } }`
  await writeFile(path.join(folder, 'b.ts'), `export default { description: 'B', schema: { type: 'object' }, ${execute} }`)
  const { code, out, err } = await runIn(folder, ['tool', 'check', 'b.ts', '--input', '{"n":0}'])
  assert.deepEqual({ code, err }, { code: 0, err: 'here\n' })
  assert.match(out, /\nfile: a\.txt \(text\/plain, 3 bytes\)\n/)
  const failed = await runIn(folder, ['tool', 'check', 'b.ts', '--input', '{"n":1}'])
  assert.equal(failed.code, 1)
  assert.match(failed.err, /no \(b\.ts:3\)\n/)
  assert.equal((await runIn(folder, ['tool', 'check', 'b.ts', '--input', '[1]'])).code, 2)
})

test('tool list shows the effect, the trust, and whether tools read private data or send text outside', async (t) => {
  const tools = [{ name: 'web_page' }, { name: 'write_file' }, { name: 'read_file', trust: 'untrusted' }]
  const service = await startService(t, { config: { tools } })
  const { key } = await service.key({ sub: 'boss', roles: ['admin'] })
  const { code, out, err } = await runIn(await createFolder(t), ['tool', 'list', '--url', service.url, '--key', key])
  assert.equal(code, 0, err)
  const rows = out
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
  assert.deepEqual(rows, [
    ['tool', 'status', 'effect', 'trust', 'private', 'outbound'],
    ['web_page', 'ready', 'read', 'untrusted', 'no', 'yes'],
    ['write_file', 'ready', 'write', 'trusted', 'no', 'no'],
    ['read_file', 'ready', 'read', 'untrusted', 'yes', 'no'],
  ])
})
