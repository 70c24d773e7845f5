import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import type { BrowserContext } from 'playwright-core'
import { browserTest, openConsole } from './browser-fixture.ts'

const sources = path.join(import.meta.dirname, '../../client/src')

/** A page of the service's own origin: another one needs permission by CORS. */
const folder = '/client-test'

browserTest('the typed client chats and streams in a browser', async (t) => {
  const { service, context, page } = await openConsole(t, {
    script: { text: ['Hello ', 'from ', 'the ', 'model'] },
    who: null,
    allowed: [/401/],
  })
  await serveClient(context, service.url)
  const { key } = await service.key()
  await page.goto(`${service.url}${folder}/index.html`)
  const result = await page.evaluate(
    async ({ address, accessKey, baseUrl }) => {
      const { createClient, AgentCoreError } = await import(address)
      const client = createClient({ baseUrl, accessKey })
      const messages = [{ role: 'user', content: 'Hi' }]
      const { body } = await client.chat({ messages })
      const numbers: number[] = []
      let text = ''
      for await (const chunk of client.stream({ messages })) {
        numbers.push(chunk.number)
        text += chunk.token
      }
      const refusal = await createClient({ baseUrl, accessKey: 'wrong' })
        .me()
        .catch((error: unknown) => error)
      return { answer: body.output, text, numbers, status: refusal instanceof AgentCoreError ? refusal.status : undefined }
    },
    { address: `${folder}/src/index.js`, accessKey: key, baseUrl: service.url },
  )
  assert.equal(result.answer, 'Hello from the model')
  assert.equal(result.text, 'Hello from the model')
  assert.deepEqual(
    result.numbers,
    result.numbers.map((_, index) => index + 1),
  )
  assert.equal(result.status, 401)
})

/** Answers requests below `/client-test` with a page and with the client's sources as JavaScript. */
async function serveClient(context: BrowserContext, url: string): Promise<void> {
  const html = '<!doctype html><title>Client</title>'
  await context.route(`${url}${folder}/index.html`, (route) => route.fulfill({ contentType: 'text/html', body: html }))
  for (const name of globSync('**/*.ts', { cwd: sources })) {
    const body = stripTypeScriptTypes(readFileSync(path.join(sources, name), 'utf8')).replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'")
    const address = `${url}${folder}/src/${name.replace(/\.ts$/, '.js')}`
    await context.route(address, (route) => route.fulfill({ contentType: 'text/javascript', body }))
  }
}
