import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { pipeline } from 'node:stream'
import type { TestContext } from 'node:test'
import { stringify } from 'yaml'
import { startModelServer } from '../fixtures/model-server.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import { scripted } from '../fixtures/service.ts'
import { browserTest, openConsole, startConsoleService } from './browser-fixture.ts'

const words = Array.from({ length: 80 }, (_, index) => `word${index} `)

browserTest('Chat: the answer goes on when the replica that makes it is killed', async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const model = await startModelServer({ text: words, pauseMs: 80 })
  t.after(() => model.close())
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const yaml = stringify({ llms: { primary: scripted(model) } })
  const page = await startConsoleService(t, { environment, yaml })
  const replicas = [await start(t, yaml, environment), await start(t, yaml, environment)] as const
  let holder: string = replicas[0].url
  const balancer = await startBalancer(t, ({ url = '' }) => (url.startsWith('/console') ? page.url : holder))

  const opened = await openConsole(t, { service: { ...page, url: balancer }, allowed: [/502|ERR_|Failed to load/] })
  await opened.open('/chat')
  const question = opened.page.getByRole('textbox', { name: 'Your question' })
  await question.fill('Count for me.')
  await question.press('Enter')
  await opened.page.getByText('word9 ').waitFor()
  replicas[0].child.kill('SIGKILL')
  await replicas[0].ended
  holder = replicas[1].url

  await opened.page.getByText('word79').waitFor({ timeout: 60_000 })
  await opened.page.getByRole('button', { name: 'Copy answer' }).waitFor()
  const answer = await opened.page.getByRole('article', { name: 'Answer' }).innerText()
  assert.deepEqual(
    answer.match(/word\d+/g),
    words.map((word) => word.trim()),
  )
})

async function start(t: TestContext, yaml: string, environment: Record<string, string>) {
  const folder = await makeFolder(t)
  await writeFile(path.join(folder, 'agent.yaml'), yaml)
  return serve(t, folder, environment)
}

/** One address for several services. A request whose service is gone is answered with 502, or broken off. */
async function startBalancer(t: TestContext, targetOf: (request: { url?: string | undefined }) => string): Promise<string> {
  const balancer: Server = createServer((incoming, reply) => {
    const target = request(new URL(incoming.url ?? '/', targetOf(incoming)), { method: incoming.method, headers: incoming.headers })
    target.on('response', (response) => {
      // The page has gone meanwhile.
      if (reply.destroyed) return void response.destroy()
      reply.writeHead(response.statusCode ?? 502, response.headers)
      pipeline(response, reply, () => reply.destroy())
    })
    target.on('error', () => (reply.headersSent ? reply.destroy() : reply.writeHead(502).end()))
    incoming.pipe(target)
  })
  balancer.listen(0, '127.0.0.1')
  await once(balancer, 'listening')
  t.after(() => {
    balancer.close()
    balancer.closeAllConnections()
  })
  return `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`
}
