import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createWorkspace, type Workspace } from './folder.ts'
import { createNeeds } from './needs.ts'
import { parsePage } from './page.ts'
import { runPage } from './run-page.ts'
import { checkTypes } from './typescript-blocks.ts'

let workspace: Workspace
before(async () => void (workspace = await createWorkspace()))
after(() => workspace.remove())

let count = 0
/** Fences are written with ~~~ in this file. */
const parse = (text: string) => parsePage(`---\nservice: none\n---\n${text.replaceAll('~~~', '```')}`, `page-${++count}.md`)
const run = (text: string) => runPage(parse(text), { workspace, needs: createNeeds() })
const faultsOf = async (text: string) => (await run(text)).faults.map(({ line, message }) => `${line} ${message}`)

test('blocks share variables and files; written files can be merged; outputs are compared', async () => {
  const result = await run(`
~~~sh
NAME=ada
~~~
~~~yaml file=conf/a.yaml
a: {b: 1}
~~~
~~~yaml merge=conf/a.yaml
a: {c: 2}
~~~
~~~sh
echo "hello $NAME"; cat conf/a.yaml
ls nowhere || echo none >&2
~~~
~~~text output
hello ada
a: { b: 1, c: 2 }
ls: ...
none
~~~
~~~sh skip="never"
exit 7
~~~
~~~text output
anything
~~~`)
  assert.deepEqual(
    { ...result, seconds: 0, page: '' },
    {
      ...{ page: '', run: 2, compared: 1, written: 2, parsed: 2, faults: [], seconds: 0 },
      skipped: [{ line: 25, reason: 'never' }],
    },
  )
})

test('a wrong output is found, and the page goes on', async () => {
  const faults = await faultsOf(
    '~~~sh\necho one\n~~~\n~~~text output\ntwo\n~~~\n~~~sh\necho \'{"a":1}\'\n~~~\n~~~json output\n{"a": "1"}\n~~~',
  )
  assert.deepEqual(faults, ['8 line 1 is "one", expected "two"', '14 a is number, expected string'])
})

test('a failing command ends the page, also within a block and in the shell itself', async () => {
  assert.deepEqual(await faultsOf('~~~sh\ncat nowhere\necho\n~~~\n~~~sh\nfalse\n~~~'), ['5 a command failed with status 1'])
  assert.deepEqual(await faultsOf('~~~sh\nexit 3\n~~~'), ['5 the commands ended the shell'])
  assert.deepEqual(await faultsOf('~~~sh fails\ntrue\n~~~'), ['5 no command failed, although the block says `fails`'])
  assert.deepEqual(await faultsOf('~~~sh fails\nsh -c "exit 4"\n~~~'), [])
})

test('an output without commands, a file that cannot be merged and a syntax error are found', async () => {
  assert.deepEqual(await faultsOf('~~~sh\ntrue\n~~~\n~~~json\n{}\n~~~\n~~~text output\nx\n~~~'), ['11 the output follows no commands'])
  assert.match((await faultsOf('~~~sh\ntrue\n~~~\n~~~yaml merge=b.yaml\na: 1\n~~~'))[0]!, /^8 b\.yaml was not written: ENOENT/)
  assert.match((await faultsOf('~~~json\n{"a": }\n~~~'))[0]!, /^5 does not parse: /)
  assert.match((await faultsOf('~~~sh skip="x"\nif then\n~~~'))[0]!, /^5 does not parse: /)
})

test('a port of this machine is replaced everywhere on the page by a free one', async () => {
  const page = '~~~sh\necho http://127.0.0.1:18471/ 18471 > address\ncat address\n~~~\n~~~text output\nhttp://127.0.0.1:18471/ 18471\n~~~'
  assert.deepEqual(await faultsOf(page), [])
  const written = await readFile(path.join(path.dirname(workspace.commands), 'pages', `page-${count}`, 'address'), 'utf8')
  assert.match(written, /^http:\/\/127\.0\.0\.1:(\d+)\/ \1\n$/)
  assert.doesNotMatch(written, /18471/)
})

test('background processes end with the page', async () => {
  await run('~~~sh\nsleep 600 &\necho $! > pid\n~~~')
  const folder = path.join(path.dirname(workspace.commands), 'pages', `page-${count}`)
  const pid = Number(await readFile(path.join(folder, 'pid'), 'utf8'))
  const readState = () => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'gone')
  const until = Date.now() + 10_000
  // A process whose parent is gone may wait to be collected.
  while (!/^gone$|\) [ZX] /.test(await readState())) {
    assert.ok(Date.now() < until, await readState())
    await sleep(10)
  }
})

test('types of TypeScript blocks are checked at their place, and `continues` shares a module', async () => {
  const page = parse('~~~ts\nconst a: number = 1\n~~~\n~~~ts continues\n\nconst b: string = a\n~~~\n~~~ts\nconst a = 2\n~~~')
  assert.deepEqual(await checkTypes([page]), [`page-${count}.md:9  TS2322: Type 'number' is not assignable to type 'string'.`])
})
