import assert from 'node:assert/strict'
import { until } from '../fixtures/async-client.ts'
import type { ModelScript } from '../fixtures/model-server.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'
import { browserTest, openConsole, startConsoleService } from './browser-fixture.ts'
import { ann } from './example-data.ts'

/** Sets a flag wherever it is taken for markup or code; turns the direction of text that follows. */
const attack = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>[x](javascript:window.broken=1)\u202egpj.exe'
const fileName = '\u202e<img src=x onerror=window.broken=1>.html'
const bigOutput = `${attack}${'x'.repeat(5_000_000)}`

const script: ModelScript = ({ body: { messages } }) => {
  if (String(messages[0].content).includes('memory of an assistant')) return { text: JSON.stringify([{ kind: 'fact', content: attack }]) }
  const steps = messages.slice(messages.findLastIndex(({ role }: { role: string }) => role === 'user')).length
  if (steps === 1) return { ...callOf('look', { [attack]: attack }), reasoning: attack }
  if (steps === 3) return callOf('write_file', { file_name: fileName, content: `<script>parent.broken=1</script>${attack}` })
  return { text: `${attack}\n\n![p](https://evil.example/p.png)\n\n<iframe src="https://evil.example/"></iframe>` }
}

browserTest('Hostile text of models, tools, files and callers is text on every screen', async (t) => {
  const look = fakeTool('look', async () => bigOutput, { description: attack, maxOutputCharacters: 6_000_000 })
  const config = {
    name: attack,
    description: attack,
    tools: [{ name: 'write_file' }],
    conversation_starters: [{ title: attack, message: attack }],
  }
  const service = await startConsoleService(t, { script, tools: [look], config })
  const client = await service.as(ann)
  const question = { messages: [{ role: 'user', content: attack + 'q'.repeat(10_000) }], auto_memory_retain: true }
  await client.chat(question, { 'request-id': 'r1', 'session-id': 's1' })
  const schedule = {
    name: attack + 'n'.repeat(200 - attack.length),
    cron: '@daily',
    timezone: 'UTC',
    request: { messages: question.messages },
  }
  const { body: scheduled } = await client.request('POST', '/core/v1/schedules', { body: schedule })
  await client.request('POST', `/core/v1/schedules/${scheduled.id}/pause`, { body: { reason: attack } })
  const { body: dataset } = await client.request('POST', '/core/v1/datasets', { body: { name: 'hostile', description: attack } })
  const example = { from_run: { request_id: 'r1' }, tags: [attack.slice(0, 64)] }
  await client.request('POST', `/core/v1/datasets/${dataset.id}/examples`, { body: example })
  const { body: files } = await client.request('GET', '/core/v1/artifacts')
  assert.equal(files.artifacts.length, 1)
  await until(
    () => client.request('GET', '/core/v1/memories'),
    ({ body }) => body.memories.length > 0,
  )

  const { page, open } = await openConsole(t, {
    service,
    who: ann,
    viewport: { width: 375, height: 800 },
    allowed: [/Blocked script execution in 'blob:/],
  })
  const ofSchedules = ['/schedules', `/schedules/${scheduled.id}`]
  const ofEvals = ['/evals', `/evals/datasets/${dataset.id}`]
  for (const path of [
    '/chat',
    '/chat/s1',
    '/runs',
    '/files',
    '/memories',
    '/tools/look',
    '/runs?tab=log',
    '/runs/r1',
    ...ofSchedules,
    ...ofEvals,
  ]) {
    await open(path)
    await page.getByText('onerror').first().waitFor({ state: 'attached' })
    assert.equal(await page.evaluate('window.broken'), undefined, path)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 375, `${path} does not become wider`)
  }

  await open('/runs/r1')
  await page.getByRole('region', { name: 'Timeline' }).getByRole('button', { name: /look/ }).first().click()
  const startedAt = performance.now()
  await page.getByRole('button', { name: 'Show whole values' }).click()
  await page
    .getByRole('button', { name: /Show more/ })
    .first()
    .waitFor()
  t.diagnostic(`An output of 5 MB opens in ${Math.round(performance.now() - startedAt)} ms on the page of the run.`)
  assert.equal(await page.evaluate('window.broken'), undefined)

  await open('/chat/s1')
  await page.getByRole('button', { name: /^_img.*html/ }).click()
  await page.locator('iframe').waitFor()
  assert.equal(await page.locator('iframe').getAttribute('sandbox'), '')
  assert.equal(await page.evaluate('window.broken'), undefined)
})
