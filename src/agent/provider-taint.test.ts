import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, providerCall, say, ScriptedModel, texts, type ScriptedReply } from './scripted-model.ts'
import { eventsOf, fakeTool, optionsOf, type StoryEvent } from './react-fixture.ts'
import type { Taint } from './messages.ts'
import { cleanTaint, type Containment } from './taint.ts'

const marks = { trust: 'trusted', private: false, outbound: false } as const
const search = fakeTool('web_search', {
  provider: { tool: 'web_search', config: {} },
  marks: { trust: 'untrusted', private: false, outbound: true },
})
const send = fakeTool('send', { effect: 'write', marks })
const containment: Containment = { policy: { afterUntrusted: 'approve', outbound: 'allow', outboundHosts: [] }, inherited: cleanTaint }

async function run(reply: ScriptedReply) {
  const options = optionsOf(new ScriptedModel(reply), { tools: [search, send], containment })
  return { events: await eventsOf(options), options }
}

const waitsFor = (events: readonly StoryEvent[]) => events.flatMap((event) => (event.type === 'interrupt' ? event.calls : []))

test('a call behind a call of the provider, in the same reply, is held, and the step shows its marks', async () => {
  const { events } = await run({
    events: [...texts('Hm.'), ...providerCall('web_search', {}, 'x')],
    reply: { toolCalls: [call('send', {})] },
  })
  assert.deepEqual(
    waitsFor(events).map(({ tool, sources }) => [tool, sources]),
    [['send', [{ tool: 'web_search', callId: 'c1' }]]],
  )
  const step = events.find((event) => event.type === 'step_end')
  assert.deepEqual(step?.step.containment, { trust: 'untrusted', private: false, outbound: true })
})

test('a reply that names sources has read text of strangers, also where the provider reports no call', async () => {
  const sources = [{ url: 'http://site.test/', title: 'Site' }]
  const { events, options } = await run({ events: texts('So.'), reply: { sources, toolCalls: [call('send', {})] } })
  assert.deepEqual(
    waitsFor(events).map(({ tool, sources: from }) => [tool, from]),
    [['send', [{ tool: 'model', host: 'site.test' }]]],
  )
  const message = options.messages[1]
  assert.deepEqual(message?.role === 'assistant' && message.taint, { sources: [{ tool: 'model', host: 'site.test' }], isPrivate: false })
})

test('a sub-agent that is asked behind a call of the provider, in the same reply, has read what the provider has read', async () => {
  let shown: Taint | undefined
  const helper = fakeTool('helper', { marks, isAgent: true, execute: async (_, context) => ((shown = context.shown), 'done') })
  const asking = { events: providerCall('web_search', {}, 'x'), reply: { toolCalls: [call('helper', {})] } }
  await eventsOf(optionsOf(new ScriptedModel(asking, say('Done.')), { tools: [search, helper], containment }))
  assert.deepEqual(shown?.sources, [{ tool: 'web_search', callId: 'c1' }])
})
