import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startModelServer, type ModelServer } from '../../test/fixtures/model-server.ts'
import type { Message } from '../agent/messages.ts'
import type { Model, ModelReply } from '../agent/model.ts'
import { collectReply } from '../agent/scripted-model.ts'
import type { ModelConfig } from '../configuration/schema.ts'
import { createConnections } from './connections.ts'
import { createModel, createModels } from './create-model.ts'

const connections = createConnections()
const servers: ModelServer[] = []
after(async () => {
  await connections.close()
  await Promise.all(servers.map((server) => server.close()))
})

const environment = { KEY: 'sk-from-environment', PLACE: '127.0.0.1' }
const deps = { environment, connections, retry: { sleep: async () => undefined } }

async function server(script: Parameters<typeof startModelServer>[0] = {}): Promise<ModelServer> {
  const started = await startModelServer(script)
  servers.push(started)
  return started
}

async function ask(model: Model): Promise<ModelReply> {
  return (await collectReply(model, { system: '', messages: [{ role: 'user', text: 'Hello' }], tools: [] })).reply
}

function problem(config: Partial<ModelConfig>): string {
  try {
    createModel({ provider: 'openai', model: 'm', ...config }, deps)
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

test('references in key, address and headers are resolved', async () => {
  const { url, requests } = await server()
  const base = url.replace('127.0.0.1', '${PLACE}')
  const config: ModelConfig = {
    provider: 'openai-compatible',
    model: 'm',
    api_key: '${KEY}',
    base_url: base,
    headers: { 'X-Team': 'a ${KEY}' },
  }
  await ask(createModel(config, deps))
  assert.equal(requests[0]!.headers.authorization, 'Bearer sk-from-environment')
  assert.equal(requests[0]!.headers['x-team'], 'a sk-from-environment')
})

test('an azure deployment has its own address, version and key header', async () => {
  const { url, requests } = await server()
  const config: ModelConfig = { provider: 'azure', model: 'my gpt', api_key: 'key-1', base_url: url.replace('/v1', '/') }
  await ask(createModel({ ...config, api_version: '2030-01-01' }, deps))
  await ask(createModel({ ...config, wire: 'chat-completions', base_url: `${url.replace('/v1', '')}/openai/v1/` }, deps))
  assert.deepEqual(
    requests.map((request) => request.url),
    ['/openai/deployments/my%20gpt/chat/completions?api-version=2030-01-01', '/openai/v1/chat/completions'],
  )
  assert.equal(requests[0]!.headers['api-key'], 'key-1')
  assert.equal(requests[0]!.headers.authorization, undefined)
})

test('an address keeps its query, and its credentials become a header', async () => {
  const { url, requests } = await server()
  await ask(createModel({ provider: 'openai-compatible', model: 'm', base_url: `${url.replace('//', '//me:pa%20ss@')}?tenant=t-1` }, deps))
  assert.equal(requests[0]!.url, '/v1/chat/completions?tenant=t-1')
  assert.equal(requests[0]!.headers.authorization, `Basic ${Buffer.from('me:pa ss').toString('base64')}`)
})

test('no error message contains secrets', async () => {
  const { url } = await server((request) => ({
    status: 400,
    body: { error: `no: ${request.url} ${request.headers.authorization} ${String(request.headers['x-team'])} me pa%20ss pa ss` },
  }))
  const base = `${url.replace('//', '//me:pa%20ss@')}?token=tok-1234`
  const config: ModelConfig = {
    provider: 'openai-compatible',
    model: 'm',
    api_key: '${KEY}',
    base_url: base,
    headers: { 'x-team': 'Basic team-secret' },
  }
  await assert.rejects(ask(createModel(config, deps)), (error: Error) => {
    assert.match(error.message, /^openai-compatible m answered 400: no:/)
    for (const secret of ['sk-from-environment', 'tok-1234', 'team-secret', 'pa%20ss', 'pa ss'])
      assert.doesNotMatch(error.message, new RegExp(secret))
    return true
  })
})

test('a header created from credentials in the address is a secret too, in each form', async () => {
  const basic = Buffer.from('me:p/ss wörd').toString('base64')
  const forms = [basic, encodeURIComponent(basic), 'p/ss wörd', encodeURIComponent('p/ss wörd'), 'team+key', 'team%2Bkey']
  forms.push(Buffer.from('team+key').toString('base64'))
  const { url } = await server((request) => ({
    status: 400,
    body: { error: `no ${request.headers.authorization} ${forms.join(' ')} end` },
  }))
  const base = url.replace('//', `//me:${encodeURIComponent('p/ss wörd')}@`)
  const config: ModelConfig = { provider: 'openai-compatible', model: 'm', base_url: base, headers: { 'x-team': 'team+key' } }
  await assert.rejects(ask(createModel(config, deps)), (error: Error) => {
    assert.match(error.message, / answered 400: no .*\*\*\* end$/)
    for (const form of forms) assert.ok(!error.message.includes(form), form)
    return true
  })
})

test('blank values count as missing', () => {
  assert.equal(problem({ api_key: ' ' }), 'api_key: required by openai')
  assert.equal(problem({ headers: { authorization: ' ' } }), 'api_key: required by openai')
  const aws: Partial<ModelConfig> = { provider: 'amazon-bedrock', region: 'eu-west-1' }
  assert.match(problem({ ...aws, api_key: ' ' }), /^api_key: required by amazon-bedrock, unless access_key_id/)
  assert.equal(problem({ ...aws, access_key_id: 'a', secret_access_key: ' ' }), 'secret_access_key: required with access_key_id')
  assert.equal(problem({ ...aws, api_key: 'k', region: ' ' }), 'region: required by amazon-bedrock')
})

test('missing values are reported by field', () => {
  assert.equal(problem({}), 'api_key: required by openai')
  assert.equal(problem({ provider: 'anthropic' }), 'api_key: required by anthropic')
  assert.equal(problem({ provider: 'openai-compatible' }), 'base_url: required by openai-compatible')
  assert.equal(problem({ provider: 'azure' }), 'base_url: required by azure; api_key: required by azure')
  assert.equal(problem({ api_key: '${NOT_THERE}' }), 'api_key: the environment variable NOT_THERE is not set')
  assert.match(problem({ api_key: '${AWS_SECRET_ACCESS_KEY}' }), /^api_key: .*belongs to the service/)
  assert.equal(problem({ api_key: 'k', base_url: '${KEY}' }), 'base_url: must be an http(s) address')
  assert.match(problem({ provider: 'amazon-bedrock' }), /^region: .*; api_key: required by amazon-bedrock, unless access_key_id/)
  assert.equal(
    problem({ provider: 'amazon-bedrock', region: 'eu-west-1', access_key_id: 'a' }),
    'secret_access_key: required with access_key_id',
  )
  assert.equal(problem({ headers: { Authorization: 'Bearer x' } }), '')
})

test('fallbacks answer when the primary fails, under their own name', async () => {
  const down = await server({ status: 503 })
  const up = await server({ text: 'Here I am.' })
  const primary: ModelConfig = { provider: 'openai-compatible', model: 'big', base_url: down.url }
  const fallback: ModelConfig[] = [{ provider: 'openai-compatible', model: 'small', base_url: up.url }]
  const reply = await ask(createModels({ primary, fallback }, deps))
  assert.deepEqual(
    { text: reply.text, model: reply.usage.model, requestCount: down.requests.length },
    { text: 'Here I am.', model: 'small', requestCount: 3 },
  )
})

/** The reply to messages with a tool that may change something. */
async function replyTo(model: Model, messages: Message[]): Promise<ModelReply> {
  const tools = [
    { name: 'delete_note', description: 'Deletes a note.', effect: 'write' as const, schema: { type: 'object', properties: {} } },
  ]
  return (await collectReply(model, { system: '', messages, tools })).reply
}

test('the embedded model as a fallback calls no tools that change something, unless its entry permits them', async () => {
  const down = await server({ status: 503 })
  const primary: ModelConfig = { provider: 'openai-compatible', model: 'big', base_url: down.url }
  const order: Message = { role: 'user', text: 'Delete the note' }
  const proposal = await replyTo(createModel({ provider: 'embedded', model: 'rules-1' }, deps), [order])
  const messages: Message[] = [order, { role: 'assistant', text: proposal.text, toolCalls: [] }, { role: 'user', text: 'Yes' }]
  for (const writes of [undefined, true]) {
    const fallback: ModelConfig[] = [{ provider: 'embedded', model: 'rules-1', ...(writes ? { write_tools: writes } : {}) }]
    const models = createModels({ primary, fallback }, { ...deps, retry: { ...deps.retry, attempts: 1 } })
    assert.equal((await replyTo(models, messages)).toolCalls.length, writes ? 1 : 0)
  }
})

test('a faulty fallback is reported by its path', () => {
  const primary: ModelConfig = { provider: 'embedded', model: 'rules-1' }
  assert.throws(() => createModels({ primary, fallback: [{ provider: 'google', model: 'g' }] }, deps), {
    message: 'llms.fallback[0]: api_key: required by google',
  })
})

test('the embedded model needs nothing', () => {
  assert.equal(createModel({ provider: 'embedded', model: 'rules-1' }, deps).name, 'rules-1')
})

test('the usage of a model that has the name of an earlier one states its place, with empty answers of its own', async () => {
  const usage = { input: 10, output: 1 }
  const [first, second] = [await server({ status: 400, body: {} }), await server([{ text: [''], usage }, { usage }])]
  const config = (at: ModelServer): ModelConfig => ({ provider: 'openai-compatible', model: 'm', api_key: 'k', base_url: at.url })
  const models = createModels({ primary: config(first), fallback: [config(second), { ...config(second), model: 'other' }] }, deps)
  const { usage: used } = await ask(models)
  assert.deepEqual([used.model, used.place, used.input], ['m', 'llms.fallback[0]', 20])
  const alone = await ask(createModels({ primary: config(await server({ usage })), fallback: [] }, deps))
  assert.equal('place' in alone.usage, false)
})
