import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadLanguageModel, type ProviderAccess } from './providers.ts'

const serviceCredentials = {
  AWS_ACCESS_KEY_ID: 'AKIDSERVICE',
  AWS_SECRET_ACCESS_KEY: 's',
  AWS_SESSION_TOKEN: 'session-service',
  AWS_BEARER_TOKEN_BEDROCK: 'bearer-service',
}

/** The headers that reach Bedrock, in an environment that has credentials of its own. */
async function headersWith(access: ProviderAccess): Promise<Headers> {
  const before = Object.fromEntries(Object.keys(serviceCredentials).map((name) => [name, process.env[name]]))
  Object.assign(process.env, serviceCredentials)
  try {
    const { promise: sent, resolve } = Promise.withResolvers<Headers>()
    const fetch = async (_: unknown, init?: RequestInit) => {
      resolve(new Headers(init?.headers))
      return new Response('{}', { status: 400 })
    }
    const model = await loadLanguageModel(
      'amazon-bedrock',
      'm',
      { region: 'eu-west-1', baseUrl: 'http://bedrock.example', ...access },
      fetch,
    )
    await assert.rejects(async () => model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] }))
    return await sent
  } finally {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}

test("bedrock never gets the service's own AWS credentials", async () => {
  for (const access of [{ apiKey: ' ' }, {}, { accessKeyId: 'AKIDMINE', secretAccessKey: 'x' }, { apiKey: 'mine' }]) {
    const headers = JSON.stringify([...(await headersWith(access))])
    assert.doesNotMatch(headers, /service/i, JSON.stringify(access))
    assert.match(headers, /authorization/)
  }
})

test('bedrock gets the credentials of the configuration, including temporary credentials', async () => {
  const headers = await headersWith({ accessKeyId: 'AKIDMINE', secretAccessKey: 'x', sessionToken: 'session-mine' })
  assert.match(headers.get('authorization') ?? '', /Credential=AKIDMINE\//)
  assert.equal(headers.get('x-amz-security-token'), 'session-mine')
})
