import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Decision, PendingCall } from '../agent/approval.ts'
import type { JsonObject } from '../agent/messages.ts'
import type { ModelRequest } from '../agent/model.ts'
import { fakeTool, story, type StoryEvent } from '../agent/react-fixture.ts'
import { call, providerCall, say, texts, type ScriptedReply } from '../agent/scripted-model.ts'
import type { Tool } from '../agent/tool.ts'
import { AnsweringModel, askedOf, KeptRun, type KeptRunOptions } from './kept-run-fixture.ts'

/** What each agent says, turn by turn. */
type Script = Record<string, ScriptedReply[]>

const task = (name: string, what: string) => call(`sub_agent_${name}`, { task: what })
const approved = (): Decision => ({ decision: 'approve', isStarted: false })

function modelOf(script: Script): AnsweringModel {
  return new AnsweringModel((request: ModelRequest) => {
    const { who, turn } = askedOf(request)
    return script[who]?.[turn] ?? say(`${who} has no turn ${turn}`)
  })
}

/** `look` is free, `send` needs approval; both note what they were called with. */
function tools(made: string[]): Tool[] {
  const execute = (name: string) => async (input: JsonObject) => {
    made.push(`${name} ${JSON.stringify(input)}`)
    return `${name} done`
  }
  const send = fakeTool('send', { effect: 'write', approval: { by: 'caller' }, execute: execute('send') })
  return [fakeTool('look', { execute: execute('look') }), send]
}

function start(script: Script, traits: Partial<KeptRunOptions> = {}) {
  const made: string[] = []
  const run = new KeptRun({ model: modelOf(script), tools: tools(made), subAgents: ['a', 'b'], ...traits })
  const resume = async (): Promise<string[]> => {
    const from = run.events.length
    await run.resume()
    return story(run.events.slice(from))
  }
  return { run, made, resume }
}

test("a sub-agent's call that needs approval interrupts the whole run after the other calls of the turn have ended", async () => {
  const { run, made, resume } = start({
    agent: [say('', task('a', 'send it'), task('b', 'look'), call('look', { by: 'agent' })), say('All done.')],
    a: [say('', call('send', { n: 1 }), call('look', { by: 'a' })), say('I sent it.')],
    b: [say('', call('look', { by: 'b' })), say('I looked.')],
  })
  const before = await resume()
  assert.deepEqual(before.at(-1), 'interrupt: c4 send')
  assert.deepEqual(made.toSorted(), ['look {"by":"a"}', 'look {"by":"agent"}', 'look {"by":"b"}'])
  assert.ok(before.includes('c2 result: I looked.') && before.includes('c3 result: look done'), before.join('\n'))
  assert.ok(!before.some((line) => line.startsWith('c1 result')))
  assert.deepEqual(
    run.list.map((one) => run.subAgents.statusOf(one)),
    ['ready', 'ready'],
  )
  run.decisions.set('c4', approved())
  assert.deepEqual(await resume(), [
    'c1 starts: sub_agent:a {"task":"send it"}',
    'c4 is about to be made',
    'c4 starts: send {"n":1}',
    'in c1: result',
    'in c1: turn',
    'c1 result: I sent it.',
    'c1 ends: success',
    'answer: All done.',
    'turn',
    'end: stop',
  ])
  assert.deepEqual(made.slice(3), ['send {"n":1}'])
})

test("a nested sub-agent's call makes all agents above wait, and each resumes at its position", async () => {
  const { run, made, resume } = start(
    {
      agent: [say('', task('a', 'x')), say('Done.')],
      a: [say('', task('b', 'y')), say('b says it is sent.')],
      b: [say('', call('send', { n: 1 })), say('', call('send', { n: 2 })), say('Sent.')],
    },
    // One place: it is handed down and given back.
    { depth: 2, concurrency: 1 },
  )
  assert.equal((await resume()).at(-1), 'interrupt: c3 send')
  run.decisions.set('c3', approved())
  assert.equal((await resume()).at(-1), 'interrupt: c4 send')
  run.decisions.set('c4', { decision: 'reject', reason: 'Once is enough.' })
  const last = await resume()
  assert.deepEqual(last.slice(-8), [
    'in c2: turn',
    'in c1: result',
    'in c1: turn',
    'c1 result: b says it is sent.',
    'c1 ends: success',
    'answer: Done.',
    'turn',
    'end: stop',
  ])
  assert.deepEqual(made, ['send {"n":1}'])
  assert.deepEqual(
    run.list.map((one) => run.subAgents.statusOf(one)),
    ['ready', 'ready'],
  )
})

test('a sub-agent with a plan resumes in the step whose call waited', async () => {
  const isPlanned = (text: string, { messages }: ModelRequest) => messages.some((message) => message.text.includes(text))
  const model = new AnsweringModel((request) => {
    const { who } = askedOf(request)
    const last = request.messages.at(-1)!
    if (who === 'agent') return last.role === 'tool' ? say(`Got: ${last.text}`) : say('', task('a', 'x'))
    if (last.role === 'user' && last.instruction === 'plan') return say('["Send it.", "Say so."]')
    if (last.role === 'user' && last.instruction === 'step' && !isPlanned('send done', request)) return say('', call('send', { n: 1 }))
    return last.role === 'tool' ? say(`It gave: ${last.text}`) : say('It was sent.')
  })
  const { run, made, resume } = start({}, { model, innerWorkflow: 'plan_execute' })
  assert.equal((await resume()).at(-1), 'interrupt: c3 send')
  run.decisions.set('c3', approved())
  const lines = await resume()
  assert.deepEqual(lines.slice(-4), ['c1 ends: success', 'answer: Got: It was sent.', 'turn', 'end: stop'])
  assert.deepEqual(made, ['send {"n":1}'])
})

test('a sub-agent ended while its call waited is reported as a missing tool', async () => {
  const { run, made, resume } = start({ agent: [say('', task('a', 'x')), say('Well.')], a: [say('', call('send', {}))] })
  assert.equal((await resume()).at(-1), 'interrupt: c2 send')
  run.list.splice(0, 1)
  run.decisions.set('c2', approved())
  const [, result] = await resume()
  assert.match(result!, /^c1 result \(error\): There is no tool sub_agent_a\./)
  assert.deepEqual(made, [])
})

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Tools that wait for a moment between what they do and their result, so that a process can die there. */
function countingTools(made: Map<string, JsonObject[]>, random: () => number): Tool[] {
  const noting = (name: string, traits: Partial<Tool>) =>
    fakeTool(name, {
      ...traits,
      async execute(input, { callId }) {
        made.set(callId, [...(made.get(callId) ?? []), input])
        for (let ticks = Math.floor(random() * 4); ticks > 0; ticks--) await new Promise(setImmediate)
        if (random() < 0.1) throw new Error('It failed.')
        return 'done'
      },
    })
  return [
    noting('look', {}),
    noting('peek', { approval: { by: 'caller' } }),
    noting('note', { effect: 'write' }),
    noting('send', { effect: 'write', approval: { by: 'caller' } }),
  ]
}

/** Each agent asks for up to four calls in each of its first turns, always the same ones. */
function randomModel(seed: number): AnsweringModel {
  return new AnsweringModel((request) => {
    const { who, turn } = askedOf(request)
    const last = request.messages.at(-1)!
    if (last.role === 'user' && last.instruction === 'plan') return say('["A.", "B."]')
    const random = randomOf(seed * 1000 + turn * 10 + who.charCodeAt(0))
    const names = ['look', 'peek', 'note', 'note', 'send', 'send', ...(who === 'agent' ? ['a', 'b'] : who === 'a' ? ['b'] : [])]
    const wanted = Array.from({ length: turn > 1 ? 0 : Math.floor(random() * 5) }, () => names[Math.floor(random() * names.length)]!)
    return say('Well.', ...wanted.map((name) => (name.length > 1 ? call(name, { n: random() }) : task(name, 'x'))))
  })
}

interface Played {
  run: KeptRun
  made: Map<string, JsonObject[]>
  asked: Map<string, PendingCall>
  crashes: number
}

/** Plays a run to its end: every call is decided at random, and its process dies at random places. */
async function play(seed: number, crashRate: number): Promise<Played> {
  const random = randomOf(seed)
  const made = new Map<string, JsonObject[]>()
  const asked = new Map<string, PendingCall>()
  const workflow = seed % 3 === 0 ? 'plan_execute' : 'react'
  const innerWorkflow = seed % 5 === 0 ? 'plan_execute' : 'react'
  const options = { subAgents: ['a', 'b'], depth: 2, concurrency: 1 + (seed % 3), workflow, innerWorkflow } as const
  const run = new KeptRun({ model: randomModel(seed), tools: countingTools(made, random), ...options })
  for (let attempts = 1, crashes = 0; attempts < 300; attempts++) {
    const dies = random() < crashRate && attempts < 100
    const came = await run.resume(dies ? { dieAfter: Math.floor(random() * 12), isKept: random() < 0.5 } : {})
    if (came.to === 'end') return { run, made, asked, crashes }
    if (came.to === 'crash') crashes++
    if (came.to !== 'interrupt') continue
    for (const one of came.calls) {
      assert.ok(!run.decisions.has(one.callId), `${one.callId} is asked for again`)
      assert.ok(!made.has(one.callId), `${one.callId} was made before anybody was asked`)
      asked.set(one.callId, one)
      run.decisions.set(one.callId, decide(random))
    }
  }
  throw new Error('It came to no end.')
}

function decide(random: () => number): Decision {
  const at = random()
  if (at < 0.3) return { decision: 'reject', reason: 'No.' }
  return { decision: 'approve', isStarted: false, ...(at < 0.5 ? { input: { changed: true } } : {}) }
}

function hasResults({ run }: Played): void {
  for (const messages of run.transcripts()) {
    const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : []))
    const results = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
    assert.deepEqual(results.toSorted(), calls.toSorted())
  }
}

function isMadeAsDecided({ run, made, asked, crashes }: Played): void {
  const tools = new Map(run.events.flatMap((event) => (event.type === 'step_start' ? [[event.step.id, event.step.tool]] : [])))
  for (const [callId, inputs] of made) {
    const isWrite = ['send', 'note'].includes(tools.get(callId) ?? '')
    if (isWrite || crashes === 0) assert.equal(inputs.length, 1, `${callId} ${tools.get(callId)} was made ${inputs.length} times`)
  }
  for (const [callId, { input }] of asked) {
    const decision = run.decisions.get(callId)
    const inputs = made.get(callId) ?? []
    if (decision?.decision === 'reject') assert.deepEqual(inputs, [])
    else for (const used of inputs) assert.deepEqual(used, (decision?.decision === 'approve' && decision.input) || input)
    if (crashes === 0 && decision?.decision === 'approve') assert.equal(inputs.length, 1)
  }
}

function endsOnce(events: readonly StoryEvent[]): void {
  assert.equal(events.filter((event) => event.type === 'end').length, 1)
}

for (const [title, crashRate] of [
  ['without a crash, each approved call is made once, as it was decided, and no other', 0],
  ['whatever is decided and wherever processes die, a write is made at most once and each call has one result', 0.7],
] as const) {
  test(title, async () => {
    let seen = { asked: 0, crashes: 0, nested: 0 }
    for (let seed = 1; seed <= 150; seed++) {
      const played = await play(seed, crashRate)
      try {
        hasResults(played)
        isMadeAsDecided(played)
        endsOnce(played.run.events)
        for (const one of played.run.list) assert.equal(played.run.subAgents.statusOf(one), 'ready')
      } catch (cause) {
        throw new Error(`With seed ${seed}:\n${story(played.run.events).join('\n')}`, { cause })
      }
      const { asked, crashes, run } = played
      seen = { asked: seen.asked + asked.size, crashes: seen.crashes + crashes, nested: seen.nested + run.nested.length }
    }
    // It tries what it says.
    assert.ok(seen.asked > 150 && seen.nested > 150 && (crashRate === 0 || seen.crashes > 300), JSON.stringify(seen))
  })
}

test("a sub-agent's calls of its provider are steps of the run, and its answer is the whole text", async () => {
  const { run, resume } = start({
    agent: [say('', task('a', 'search')), say('Done.')],
    a: [{ events: [...texts('A. '), ...providerCall('web_search', {}, { hits: 1 }), ...texts('B.')] }],
  })
  assert.ok((await resume()).includes('c1 result: A. B.'))
  const steps = run.events.flatMap((event) => (event.type === 'step_end' && event.step.isOfProvider ? [event.step] : []))
  assert.deepEqual(
    steps.map(({ tool, subAgent, status }) => [tool, subAgent, status]),
    [['web_search', 'a', 'success']],
  )
})
