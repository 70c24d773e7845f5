import type { TestContext } from 'node:test'
import { installed, serve } from '../fixtures/process.ts'
import { freePort } from '../fixtures/postgres-server.ts'
import { copyExample, exampleTest, makeCheckout, runReadme } from './example.ts'

const clients = ['curl', 'typescript-client', 'openai-sdk', 'langchain', 'mcp-client', 'webhook-receiver', 'morning-report', 'approval-bot']

exampleTest('clients: the commands of each README print what the page shows', async (t) => {
  const checkout = await makeCheckout(t)
  const receiver = await freePort()
  const { url } = await serve(t, checkout, { OUTBOUND_ALLOW: `127.0.0.1:${receiver}` }, undefined, installed)
  for (const name of clients) await t.test(name, (t: TestContext) => runClient(t, name))

  async function runClient(t: TestContext, name: string): Promise<void> {
    const folder = await copyExample(checkout, name, { 8080: Number(new URL(url).port), 9000: receiver })
    await runReadme(t, folder)
  }
})
