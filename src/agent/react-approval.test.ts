import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Decision } from './approval.ts'
import { outcomeUnknown } from './history.ts'
import type { JsonObject, Message } from './messages.ts'
import type { RequestedCall } from './model.ts'
import { eventsOf, fakeTool, optionsOf, story, type Traits } from './react-fixture.ts'
import { call, say, ScriptedModel } from './scripted-model.ts'
import type { Tool } from './tool.ts'

/** Tools that note what they were called with: `look` is free, `send` and `drop` need approval. */
function tools(made: string[]): Tool[] {
  const noting = (name: string, traits: Partial<Tool>) =>
    fakeTool(name, {
      ...traits,
      execute: async (input: JsonObject) => {
        made.push(`${name} ${JSON.stringify(input)}`)
        return 'done'
      },
    })
  const gated = { effect: 'write', approval: { by: 'caller' } } as const
  return [noting('look', {}), noting('send', gated), noting('drop', { ...gated, approval: { by: 'role' } })]
}

const approve = (traits: { input?: JsonObject; isStarted?: boolean } = {}): Decision => ({
  decision: 'approve',
  isStarted: false,
  ...traits,
})

test('calls without approval run, then the loop stops before calls that need approval', async () => {
  const made: string[] = []
  const model = new ScriptedModel(say('One moment.', call('send', { to: 'a' }), call('look', { at: 1 }), call('drop', {})))
  const options = optionsOf(model, { tools: tools(made) })
  const events = await eventsOf(options)
  assert.deepEqual(made, ['look {"at":1}'])
  assert.deepEqual(story(events), [
    'answer: One moment.',
    'turn',
    'c2 starts: look {"at":1}',
    'c2 result: done',
    'c2 ends: success',
    'interrupt: c1 send, c3 drop',
  ])
  const last = events.at(-1)
  assert.deepEqual(last?.type === 'interrupt' && last.calls, [
    { callId: 'c1', tool: 'send', input: { to: 'a' }, by: 'caller' },
    { callId: 'c3', tool: 'drop', input: {}, by: 'role' },
  ])
})

test('decided calls resume: an approved call runs as decided, a rejected one is reported to the model', async () => {
  const made: string[] = []
  const first = optionsOf(new ScriptedModel(say('', call('send', { to: 'a' }), call('drop', {}))), { tools: tools(made) })
  await eventsOf(first)
  const decisions: Record<string, Decision> = { c1: approve({ input: { to: 'b' } }), c2: { decision: 'reject', reason: 'Keep it.' } }
  const model = new ScriptedModel(say('Sent.'))
  const next = optionsOf(model, { tools: tools(made), messages: first.messages, decisionFor: (id) => decisions[id] })
  assert.deepEqual(story(await eventsOf(next)), [
    'c1 is about to be made',
    'c1 starts: send {"to":"b"}',
    'c1 result: A person changed the arguments of this call to {"to":"b"}.\ndone',
    'c1 ends: success',
    'c2 starts: drop {}',
    'c2 result (error): The call was rejected by a person: Keep it.\nDo not ask for it again; go on without it, or say what is missing.',
    'c2 ends: error',
    'answer: Sent.',
    'turn',
    'end: stop',
  ])
  assert.deepEqual(made, ['send {"to":"b"}'])
})

test('an approved write that was started never runs again; a later one that was not started runs', async () => {
  const made: string[] = []
  const first = optionsOf(new ScriptedModel(say('', call('send', { n: 1 }), call('send', { n: 2 }))), { tools: tools(made) })
  await eventsOf(first)
  const decisions: Record<string, Decision> = { c1: approve({ isStarted: true }), c2: approve() }
  const next = optionsOf(new ScriptedModel(say('Well.')), {
    tools: tools(made),
    messages: first.messages,
    decisionFor: (id) => decisions[id],
  })
  const told = story(await eventsOf(next))
  assert.match(
    told.find((line) => line.startsWith('c1 result'))!,
    /error.*unknown/,
  )
  assert.deepEqual(made, ['send {"n":2}'])
})

/** Where the calls of a turn wait, and a loop that goes on from there. */
async function interrupted(...calls: RequestedCall[]) {
  const first = optionsOf(new ScriptedModel(say('', ...calls)), { tools: tools([]) })
  await eventsOf(first)
  return async (traits: Traits) =>
    story(await eventsOf(optionsOf(new ScriptedModel(say('Well.')), { messages: first.messages, ...traits })))
}

test('the need for approval is fixed when the model asks: a later configuration changes nothing', async () => {
  const made: string[] = []
  const resume = await interrupted(call('send', { n: 1 }), call('send', { n: 2 }))
  const free = tools(made)
  for (const tool of free) delete (tool as { approval?: unknown }).approval
  const decisions: Record<string, Decision> = { c1: { decision: 'reject' }, c2: approve() }
  const told = await resume({ tools: free, decisionFor: (id) => decisions[id] })
  assert.ok(told.includes('c2 result: done'), told.join('\n'))
  assert.deepEqual(made, ['send {"n":2}'])
})

test('a write that a dead process may have made asks for no approval under a later configuration', async () => {
  const made: string[] = []
  const messages: Message[] = [
    { role: 'user', text: 'Go.' },
    { role: 'assistant', text: '', toolCalls: [{ id: 'o1', name: 'send', arguments: '{}' }] },
  ]
  const told = story(await eventsOf(optionsOf(new ScriptedModel(say('Well.')), { messages, tools: tools(made) })))
  assert.deepEqual(told.slice(0, 2), ['o1 starts: send {}', `o1 result (error): ${outcomeUnknown}`])
  assert.deepEqual(made, [])
})

test('a decided call whose tool is gone or has other arguments now fails with a message to the model', async () => {
  const resume = await interrupted(call('send', { n: 1 }))
  const decisionFor = () => approve({ input: { n: 2 } })
  const gone = await resume({ tools: [fakeTool('look')], decisionFor })
  assert.equal(
    gone[1],
    'c1 result (error): A person changed the arguments of this call to {"n":2}.\nThere is no tool send. The tools are: look.',
  )
  const strict = fakeTool('send', { effect: 'write', check: (input) => ((input as JsonObject)['n'] === 1 ? undefined : 'n must be 1') })
  const refused = await (await interrupted(call('send', { n: 1 })))({ tools: [strict], decisionFor })
  assert.match(refused[1]!, /do not fit: n must be 1/)
})

test('an approved read stores no start: after a crash it runs again', async () => {
  const gatedRead = fakeTool('look', { approval: { by: 'caller' } })
  const first = optionsOf(new ScriptedModel(say('', call('look', {}))), { tools: [gatedRead] })
  assert.deepEqual(story(await eventsOf(first)), ['turn', 'interrupt: c1 look'])
  const next = optionsOf(new ScriptedModel(say('Seen.')), { tools: [gatedRead], messages: first.messages, decisionFor: () => approve() })
  assert.deepEqual(story(await eventsOf(next)).slice(0, 3), ['c1 starts: look {}', 'c1 result: ok', 'c1 ends: success'])
})

test('a run cancelled before its calls have ended is cancelled and waits for no approval', async () => {
  const cancelling = new AbortController()
  const model = new ScriptedModel(say('', call('send', {}), call('look', {})))
  const look = fakeTool('look', { execute: async () => (cancelling.abort(), 'ok') })
  const options = optionsOf(model, { tools: [...tools([]).slice(1), look], signal: cancelling.signal })
  assert.equal(story(await eventsOf(options)).at(-1), 'end: cancelled')
})

test('the limit of model calls includes those before an interruption', async () => {
  const first = optionsOf(new ScriptedModel(say('', call('send', {}))), { tools: tools([]), maxIterations: 2 })
  await eventsOf(first)
  const model = new ScriptedModel(say('Sent.', call('send', {})))
  const rest = { tools: tools([]), messages: first.messages, decisionFor: () => approve(), maxIterations: 2, iterations: 1 }
  assert.equal(story(await eventsOf(optionsOf(model, rest))).at(-1), 'end: max_iterations')
  assert.deepEqual(model.requests[0]?.tools, [])
})

test('a call with invalid arguments is refused without asking for approval', async () => {
  const model = new ScriptedModel(say('', call('send', {})), say('Sorry.'))
  const strict = fakeTool('send', { approval: { by: 'caller' }, effect: 'write', check: () => 'to is required' })
  const told = story(await eventsOf(optionsOf(model, { tools: [strict] })))
  assert.deepEqual(told.at(-1), 'end: stop')
  assert.ok(told.some((line) => line.includes('to is required')))
})

test('a call requested when its tool needed no approval does not run without one after a takeover', async () => {
  const made: string[] = []
  const gated = fakeTool('look', {
    approval: { by: 'caller' },
    execute: async () => {
      made.push('look')
      return 'done'
    },
  })
  const messages: Message[] = [
    { role: 'user', text: 'go' },
    { role: 'assistant', text: '', toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }] },
  ]
  const model = new ScriptedModel(say('', call('look', {})))
  const events = await eventsOf(optionsOf(model, { tools: [gated], messages }))
  assert.deepEqual(made, [])
  const told = model.requests[0]?.messages.at(-1)
  assert.match(told?.role === 'tool' ? told.text : '', /look needs the approval of a person\. Ask for the call again\./)
  assert.equal(events.at(-1)?.type, 'interrupt')
})
