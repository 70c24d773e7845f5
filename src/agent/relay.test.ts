import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelEvent } from './model.ts'
import { planExecute } from './plan.ts'
import { eventsOf, fakeTool, optionsOf, type StoryEvent, type Traits } from './react-fixture.ts'
import { call, providerCall, say, ScriptedModel, texts, type ScriptedReply } from './scripted-model.ts'

const picture = '![chart](http://evil.test/?d=4711)'
const imageHosts = ['own.test']

async function run(script: ScriptedReply[], traits: Traits = {}) {
  const options = optionsOf(new ScriptedModel(...script), { imageHosts, ...traits })
  return { events: await eventsOf(options), options }
}

const textsOf = (events: readonly StoryEvent[]) =>
  events.flatMap((event) => (event.type === 'text' ? [`${event.label}: ${event.text}`] : []))

test('a stream shows no part of a foreign picture, in whichever pieces the picture arrives', async () => {
  const text = `Up! ${picture}!`
  for (let at = 0; at <= text.length; at++) {
    const { events, options } = await run([say([text.slice(0, at), text.slice(at)])])
    const shown = events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('')
    assert.equal(shown, 'Up! chart!')
    assert.equal(options.messages.at(-1)?.text, 'Up! chart!')
    assert.doesNotMatch(JSON.stringify(events), /evil|\(/)
  }
})

test('an own picture stays, and without the setting every picture', async () => {
  const own = '![chart](https://own.test/x.png)'
  assert.deepEqual(textsOf((await run([say(own)])).events), [`answer: ${own}`])
  const { imageHosts: _, ...unset } = optionsOf(new ScriptedModel(say(['!', picture])))
  assert.deepEqual(textsOf(await eventsOf(unset)), ['answer: !', `answer: ${picture}`])
})

test('the thoughts, and the texts before and behind a call, are without pictures', async () => {
  const reasoning: ModelEvent[] = [{ type: 'reasoning', text: 'Hm! ![a](http://evil' }]
  const look = { events: [...reasoning, ...texts('Look: ![b](', 'http://evil.test/)')], reply: { toolCalls: [call('look', {})] } }
  const { events, options } = await run([look, say(picture)], { tools: [fakeTool('look')] })
  assert.deepEqual(textsOf(events), ['reasoning: Hm! ', 'reasoning: a', 'answer: Look: ', 'answer: b', 'answer: chart'])
  assert.doesNotMatch(JSON.stringify([events, options.messages]), /evil/)
})

test('a picture around a call of the provider is replaced, and sources of a changed text have no place', async () => {
  const source = { url: 'http://site.test/', title: 'Site', start: 0, end: 2 }
  const search = fakeTool('web_search', { provider: { tool: 'web_search', config: {} } })
  const events = [...texts('A ![b](http://evil'), ...providerCall('web_search', {}, 'x'), ...texts('.test/x) C')]
  const { options } = await run([{ events, reply: { sources: [source] } }], { tools: [search] })
  const message = options.messages.at(-1)
  assert.equal(message?.text, 'A b C')
  assert.deepEqual(message?.role === 'assistant' && message.sources, [{ url: source.url, title: 'Site' }])
})

test('an answer in a fence, an attempt that broke off, and a plan are without pictures', async () => {
  const answerSchema = { schema: {}, maxRepairs: 0, faultOf: async () => undefined }
  const fenced = await run([say(['```json\n{"a": "', picture, '"}\n```'])], { answerSchema })
  assert.equal(fenced.options.messages.at(-1)?.text, '{"a": "chart"}')
  const broken = { events: [...texts('Half ![x](http://ev'), { type: 'retrying' as const }, ...texts('il.test/x) whole')] }
  assert.deepEqual(textsOf((await run([broken])).events), ['answer: Half ', 'answer: il.test/x) whole'])
  const steps = JSON.stringify([`Draw ${picture}`, 'Tell.'])
  const plan = await run([say(steps), say(picture), say('Told.'), say(`Done ${picture}`)], {
    tools: [fakeTool('look')],
    workflow: planExecute,
  })
  assert.doesNotMatch(JSON.stringify([plan.events, plan.options.messages]), /evil/)
})

test('escapes in the JSON of an answer hide no picture', async () => {
  const answerSchema = { schema: {}, maxRepairs: 0, faultOf: async () => undefined }
  const texts = {
    sign: String.raw`\u0021[a](http://evil.test/1)`,
    slash: String.raw`![b](http:\/\/evil.test/2)`,
    tag: String.raw`<img\nsrc=\"http://evil.test/3\">`,
    definition: String.raw`![m]\n\n[m]: http://evil.test/4`,
    own: '![c](https://own.test/x.png)',
    count: '1.0',
  }
  const pairs = Object.entries(texts).map(([name, text]) => `"${name}": ${name === 'count' ? text : `"${text}"`}`)
  const { events, options } = await run([say(['```json\n{', pairs.join(','), '}\n```'])], { answerSchema })
  const shown = events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('')
  assert.deepEqual([options.messages.at(-1)?.text, /evil/.test(JSON.stringify(JSON.parse(shown)))], [shown, false], shown)
  const { sign, own, count } = JSON.parse(shown) as Record<string, unknown>
  assert.deepEqual([sign, own, count], ['a', '![c](https://own.test/x.png)', 1])
})

test('escapes in a plan, and a picture that begins in a step and ends in its result, show no picture', async () => {
  const steps = String.raw`Here is " a plan: ["\u0021[a](http://evil.test/1)", "<img\nsrc=http:\/\/evil.test/2>", "![m]", "Look. ![b"]`
  const traits = { tools: [fakeTool('look')], workflow: planExecute }
  const { events, options } = await run([say(steps), say('1.'), say('2.'), say('3.'), say('](http://evil.test/3)'), say('Done.')], traits)
  assert.doesNotMatch(JSON.stringify([events, options.messages]), /evil\.test\/[12]/)
  assert.doesNotMatch(textsOf(events).join(''), /!\[/)
  const plan = events.find((event) => event.type === 'step_end')
  assert.deepEqual(plan?.type === 'step_end' && plan.step.output, ['a', 'image', '[m]', 'Look. [b'])
})

test('a definition in another text of the run than its picture makes no picture', async () => {
  const look = (text: string) => ({ events: texts(text), reply: { toolCalls: [call('look', {})] } })
  const definition = '[m]: http://evil.test/x'
  const behind = await run([look('See ![m]'), say(`So.\n\n${definition}`)], { tools: [fakeTool('look')] })
  assert.doesNotMatch(textsOf(behind.events).join('\n'), /evil/)
  const before = await run([look(definition), say('See ![m]')], { tools: [fakeTool('look')] })
  assert.doesNotMatch(textsOf(before.events).join('\n'), /!\[m/)
  const links = await run([look('Hm.'), say(`See [m]\n\n${definition}`)], { tools: [fakeTool('look')] })
  assert.match(textsOf(links.events).join('\n'), /evil/)
})
