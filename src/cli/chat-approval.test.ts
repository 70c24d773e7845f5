import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { startModelServer, type ModelScript } from '../../test/fixtures/model-server.ts'
import { runCommand } from './command.ts'
import { readSettings } from './prepare.ts'
import { start } from './start.ts'
import { createFolder, createTestTerminal, runIn } from './terminal-fixture.ts'

const sums = (...expressions: string[]) => ({
  calls: expressions.map((expression) => ({ name: 'calculator', arguments: JSON.stringify({ expression }) })),
})

/** A folder whose agent is this scripted model, with a calculator that needs approval. */
async function createAgent(t: TestContext, script: ModelScript, approver = 'caller') {
  const folder = await createFolder(t)
  const server = await startModelServer(script)
  t.after(() => server.close())
  await mkdir(path.join(folder, 'files'))
  const primary = { provider: 'openai-compatible', model: 'm', base_url: server.url }
  const config = { llms: { primary }, tools: [{ name: 'calculator', approval: 'required', by: approver }] }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify(config))
  const results = () =>
    server.requests
      .at(-1)
      ?.body.messages.filter((message: { role: string }) => message.role === 'tool')
      .map((message: { content: string }) => message.content)
  return { folder, server, results }
}

const onTerminal = { isTTY: true, environment: { NO_COLOR: '1' } }

test('a person at the terminal approves, rejects with a reason, and edits; then the answer continues', async (t) => {
  const { folder, results } = await createAgent(t, [sums('1 + 1', '2 + 2', '3 + 3'), { text: 'It is done.' }])
  const { terminal, stdin, saw, out } = createTestTerminal(folder, onTerminal)
  const ended = runCommand(['chat'], terminal)
  await saw('> ')
  stdin.write('Add.\r')
  await saw('? calculator {\n  "expression": "1 + 1"\n}\n')
  await saw('approve? [y]es / [n]o [why] / [e]dit ')
  stdin.write('y\r')
  await saw('"2 + 2"')
  stdin.write('n not this\r')
  await saw('"3 + 3"')
  stdin.write('e\r')
  await saw('input: {"expression":"3 + 3"}')
  stdin.write('\u0015{"expression":"4 * 4"}\r')
  await saw('It is done.\n')
  stdin.write('/quit\r')
  assert.equal(await ended, 0)
  const [first, second, third] = results()
  assert.match(first, /2/)
  assert.match(second, /rejected by a person: not this/)
  assert.match(third, /changed the arguments of this call to \{"expression":"4 \* 4"\}[\s\S]*16/)
  assert.match(out(), /✗ calculator \{"expression":"2 \+ 2"\} The call was rejected/)
})

test('text typed before an approval question is no reply, and reappears at the next prompt', async (t) => {
  const script = [{ ...sums('1 + 1'), text: ['On', 'e', ' moment.'], delayMs: 150 }, { text: 'Not done.' }, { text: 'Well.' }]
  const { folder, server, results } = await createAgent(t, script)
  const { terminal, stdin, saw } = createTestTerminal(folder, onTerminal)
  const ended = runCommand(['chat'], terminal)
  await saw('> ')
  stdin.write('Add.\r')
  await saw('On')
  stdin.write('yes\rye')
  await saw('approve?')
  stdin.write('n\r')
  await saw('Not done.')
  assert.match(results()[0], /rejected by a person/)
  // The line that was typed is the next question, and the rest of it stands behind the prompt after that.
  await saw('Well.')
  assert.equal(server.requests.at(-1)?.body.messages.at(-1).content, 'yes')
  await saw('> ye\u001B')
  stdin.write('\u0003')
  assert.equal(await ended, 0)
})

test('Ctrl-C at an approval question cancels the run, and the session continues', async (t) => {
  const { folder } = await createAgent(t, [sums('1 + 1'), { text: 'Well.' }])
  const { terminal, stdin, saw } = createTestTerminal(folder, onTerminal)
  const ended = runCommand(['chat'], terminal)
  await saw('> ')
  stdin.write('Add.\r')
  await saw('approve?')
  stdin.write('\u0003')
  await saw('Cancelled.')
  stdin.write('Again?\r')
  await saw('Well.')
  stdin.write('\u0004')
  assert.equal(await ended, 0)
})

test('--message asks a person at the terminal for approval, also with a service at another address', async (t) => {
  const { folder } = await createAgent(t, [sums('1 + 1'), { text: 'It is 2.' }])
  const settings = readSettings(createTestTerminal(folder).terminal)
  const { service, release, url } = await start({ settings, terminal: createTestTerminal(folder).terminal, version: '0', isQuiet: true })
  t.after(async () => {
    await service.close(0)
    release()
  })
  const { terminal, stdin, saw } = createTestTerminal(folder, onTerminal)
  const ended = runCommand(['chat', '--url', url, '--message', 'Add.'], terminal)
  await saw('approve?')
  stdin.write('yes\r')
  await saw('It is 2.')
  assert.equal(await ended, 0)
})

test('/approvals lists waiting calls with their context, and lets an approver decide calls of other callers', async (t) => {
  const { folder } = await createAgent(t, [sums('1 + 1'), { text: 'It is 2.' }, sums('2 + 2')], 'role')
  const settings = readSettings(createTestTerminal(folder).terminal)
  const { service, release, url } = await start({ settings, terminal: createTestTerminal(folder).terminal, version: '0', isQuiet: true })
  t.after(async () => {
    await service.close(0)
    release()
  })
  const keyOf = async (sub: string, role: string) => (await runIn(folder, ['keys', 'create', '--sub', sub, '--roles', role])).out.trim()
  const [ann, eve] = [await keyOf('ann', 'user'), await keyOf('eve', 'admin')]
  const ask = (session: string) => runIn(folder, ['chat', '--url', url, '--key', ann, '--message', 'Add, please.', '--session', session])
  await ask('s1')
  const ownTerminal = createTestTerminal(folder, onTerminal)
  const listed = runCommand(['chat', '--url', url, '--key', ann], ownTerminal.terminal)
  await ownTerminal.saw('> ')
  ownTerminal.stdin.write('/approvals\r')
  await ownTerminal.saw(
    'ann waits in session s1 for the approval of a call of calculator.\n{"expression":"1 + 1"}\nThis key may not decide this call.\n',
  )
  ownTerminal.stdin.write('/quit\r')
  assert.equal(await listed, 0)
  const { terminal, stdin, saw, out } = createTestTerminal(folder, onTerminal)
  const ended = runCommand(['chat', '--url', url, '--key', eve], terminal)
  await saw('> ')
  stdin.write('/approvals\r')
  await saw('  human: Add, please.\n? calculator {\n  "expression": "1 + 1"\n}\n')
  await saw('approve?')
  stdin.write('\u0003')
  await saw('[38G\n')
  stdin.write('/approvals\r')
  while (out().split('approve?').length < 3) await new Promise((resolve) => setTimeout(resolve, 10))
  stdin.write('y\r')
  stdin.write('/approvals\r')
  await saw('No call waits for approval.\n')
  stdin.write('/quit\r')
  assert.equal(await ended, 0)
})

test('without a terminal, chat describes the waiting calls and how to decide them, and fails', async (t) => {
  const { folder, server } = await createAgent(t, [sums('1 + 1'), { text: 'It is 2.' }])
  const { code, out, err } = await runIn(folder, ['chat', '--message', 'Add.', '--session', 's'])
  assert.deepEqual({ code, out }, { code: 1, out: '' })
  assert.match(
    err,
    /^calculator \{"expression":"1 \+ 1"\} waits for approval: \{"tool_call_id":"[^"]+","decision":"approve"\}\nSend such a decision, .+ to POST \/core\/v1\/runs\/[^/]+\/approvals, or chat in a terminal\.\n$/,
  )
  const waiting = await runIn(folder, ['chat', '--message', 'And?', '--session', 's'])
  assert.equal(waiting.code, 1)
  assert.match(waiting.err, /waits for a decision/)
  assert.equal(server.requests.length, 1)
})
