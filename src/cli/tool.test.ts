import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createFolder, runIn } from './terminal-fixture.ts'

const input = JSON.stringify({ text: 'hello' })

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
    /^ok: which_day \(read\): Repeats .+\nA log line of 5 characters of input\.\nDone\.\n\{\n {2}"text": "hello"\n\}\n\d+ ms\n$/,
  )
  await writeFile(path.join(folder, 'tools/which_day.ts'), 'mine')
  const repeated = await runIn(folder, ['tool', 'new', 'which_day'])
  assert.deepEqual(
    { code: repeated.code, err: repeated.err },
    { code: 1, err: 'tools/which_day.ts already exists; nothing was changed.\n' },
  )
  assert.equal(await readFile(path.join(folder, 'tools/which_day.ts'), 'utf8'), 'mine')
})

test('editors find the types, and a wrong use of the input is an error', async (t) => {
  const folder = await createFolder(t)
  await runIn(folder, ['tool', 'new', 'days'])
  const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  const compile = () => promisify(execFile)(process.execPath, [compiler, '-p', path.join(folder, 'tools')])
  await compile()
  const settings = await readFile(path.join(folder, 'tools/tsconfig.json'), 'utf8')
  for (const match of [...settings.matchAll(/"([^"]*(?:tool-module|@types)[^"]*)"/g)]) assert.match(match[1]!, /^\.\.\//)
  const file = path.join(folder, 'tools/days.ts')
  await writeFile(file, (await readFile(file, 'utf8')).replace('text.length', 'text.getTime()'))
  await assert.rejects(compile(), (error: Error & { stdout: string }) => /getTime/.test(error.stdout))
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
