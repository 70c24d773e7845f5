import assert from 'node:assert/strict'
import { availableParallelism, loadavg } from 'node:os'
import type { TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import type { ModelScript } from '../fixtures/model-server.ts'
import type { TestService } from '../fixtures/service.ts'
import { browserTest, openConsole, startConsoleService } from './browser-fixture.ts'

interface Measure {
  name: string
  value: number
  budget: number
  unit: 'KB' | 'MB' | 'ms'
}

const paragraph = 'Some **words** of an answer, with `code` and [links](https://example.org).\n\n'
/** Factor on budgets of time: on a machine that does other work, times are printed only. */
const slackNow = () => (loadavg()[0]! > availableParallelism() ? Infinity : 3)

/** An answer of 100 KB whose last 1,000 tokens arrive at 200 tokens per second. */
const longAnswer = [paragraph.repeat(1250), ...Array.from({ length: 1000 }, (_, index) => (index % 20 === 19 ? '.\n\n' : `word${index} `))]
const script: ModelScript = ({ body: { messages } }) =>
  messages.at(-1).content === 'long' ? { text: longAnswer, pauseMs: 5 } : { text: '**Hello.**' }

browserTest('Budgets of the console', async (t) => {
  const service = await startConsoleService(t, { script })
  const measures: Measure[] = []
  for (const measure of [measureLoad, measureTrace, measureSessions, measureStream])
    await t.test(measure.name, async (t) => {
      const slackBefore = slackNow()
      const found = await measure(t, service)
      const slack = Math.max(slackBefore, slackNow())
      measures.push(...found)
      for (const { name, value, budget, unit } of found)
        assert.ok(value <= budget * (unit === 'ms' ? slack : 1), `${name}: ${value} ${unit} instead of ${budget} ${unit}`)
    })
  for (const { name, value, budget, unit } of measures)
    t.diagnostic(`${name.padEnd(56)} ${value.toFixed(0).padStart(6)} ${unit} of ${budget} ${unit}`)
})

/** Sums the bytes, compressed by gzip, of scripts and styles that a page loads. */
function weigh(page: Page): () => Promise<number> {
  const bodies: Promise<Buffer>[] = []
  page.on('response', (response) => {
    if (/\.(js|css)$/.test(new URL(response.url()).pathname)) bodies.push(response.body())
  })
  return async () => (await Promise.all(bodies)).reduce((sum, body) => sum + gzipSync(body, { level: 9 }).length, 0)
}

async function measureLoad(t: TestContext, service: TestService): Promise<Measure[]> {
  const { page, open } = await openConsole(t, { service })
  const weight = weigh(page)
  await open('/chat')
  const question = page.getByRole('textbox', { name: 'Your question' })
  await question.waitFor()
  await page.waitForLoadState('networkidle')
  const atStart = await weight()
  await question.fill('Hello?')
  await question.press('Enter')
  await page.locator('strong', { hasText: 'Hello.' }).waitFor()
  return [
    { name: 'scripts and styles until the composer shows', value: atStart / 1000, budget: 250, unit: 'KB' },
    { name: 'more with the first answer', value: ((await weight()) - atStart) / 1000, budget: 60, unit: 'KB' },
  ]
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  return usedSize / 1e6
}

/** Notes the longest time between two frames in `longestFrame`, from now on. */
const watchFrames = `(() => {
  let last = performance.now()
  window.longestFrame = 0
  const frame = (now) => {
    window.longestFrame = Math.max(window.longestFrame, now - last)
    last = now
    requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
})()`

/** Notes in `firstRow` when the timeline has shown its first row. */
const watchFirstRow = `new MutationObserver((_, observer) => {
  if (!document.querySelector('[aria-label="Timeline"] li')) return
  observer.disconnect()
  requestAnimationFrame((now) => (window.firstRow = now))
}).observe(document, { childList: true, subtree: true })`

async function measureTrace(t: TestContext, service: TestService): Promise<Measure[]> {
  await service.client.chat('Hello?', { 'request-id': 'r1' })
  const { body } = await service.client.request('GET', '/core/v1/runs/r1/trace')
  const { page, open } = await openConsole(t, { service })
  const json = { ...body, spans: toLongTrace(body.spans) }
  await page.route('**/core/v1/runs/r1/trace', (route) => route.fulfill({ json }))
  await page.addInitScript(watchFirstRow)
  await open('/runs/r1')
  await page.getByRole('region', { name: 'Timeline' }).getByRole('listitem').first().waitFor()
  await page.waitForTimeout(100)
  const value = await page.evaluate<number>(
    `window.firstRow - performance.getEntriesByType('resource').find(({ name }) => name.endsWith('/trace')).responseEnd`,
  )
  return [
    { name: 'from the trace of 10,000 spans to its first row', value, budget: 300, unit: 'ms' },
    { name: 'heap with 10,000 spans', value: await heapOf(page), budget: 80, unit: 'MB' },
  ]
}

/** A run of 10,000 spans: turns, each with a model call and nine calls of tools. */
function toLongTrace([run, turn, model]: { id: string; started_at: string }[]): object[] {
  const at = (index: number) => new Date(Date.parse(run!.started_at) + index * 20).toISOString()
  const others = Array.from({ length: 9999 }, (_, index) => {
    const time = { started_at: at(index), ended_at: at(index + 1) }
    const place = index % 11
    if (place === 0) return { ...turn, ...time, id: `turn${index}`, name: `Turn ${index / 11}` }
    const parent_id = `turn${index - place}`
    if (place === 1) return { ...model, ...time, id: `model${index}`, parent_id }
    const attributes = { tool: 'look', tool_input: { at: index }, output: 'x'.repeat(100), effect: 'read', log: '' }
    return { ...time, id: `tool${index}`, parent_id, kind: 'tool', name: 'look', status: 'success', attributes }
  })
  return [{ ...run, ended_at: at(10_000) }, ...others]
}

const sessionsPerPage = 60
const scrollToEnd = `(() => {
  const list = document.querySelector('[role="region"][aria-label="Sessions"]')
  list.scrollTop = list.scrollHeight
})()`

async function measureSessions(t: TestContext, service: TestService): Promise<Measure[]> {
  const { page, open } = await openConsole(t, { service })
  const asked = new Set<number>()
  await page.route('**/core/v1/sessions?*', (route) => {
    const before = Number(new URL(route.request().url()).searchParams.get('before') ?? 0)
    asked.add(before)
    const sessions = Array.from({ length: sessionsPerPage }, (_, index) => {
      const session_id = String(before + index + 1)
      return { session_id, checkpoint_id: 'c', short_name: `Conversation ${session_id}`, created_at: '2026-01-02T03:04:05Z' }
    })
    return route.fulfill({ json: { sessions } })
  })
  await open('/chat')
  const list = page.getByRole('region', { name: 'Sessions' })
  await list.getByText('Conversation 1', { exact: true }).waitFor()
  await page.evaluate(watchFrames)
  const pages = 10
  const limit = Date.now() + 30_000
  while (asked.size < pages && Date.now() < limit) {
    await page.evaluate(scrollToEnd)
    await page.waitForTimeout(50)
  }
  assert.equal(asked.size, pages, 'each page is asked for as the list scrolls')
  assert.ok((await list.getByRole('link').count()) < 100, 'only visible rows are in the document')
  return [
    {
      name: 'longest frame while a list of sessions scrolls',
      value: await page.evaluate('window.longestFrame'),
      budget: 100,
      unit: 'ms',
    },
    { name: 'heap with 600 sessions', value: await heapOf(page), budget: 80, unit: 'MB' },
  ]
}

async function measureStream(t: TestContext, service: TestService): Promise<Measure[]> {
  const { page, open } = await openConsole(t, { service })
  await open('/chat')
  await page.getByRole('textbox', { name: 'Your question' }).fill('long')
  await page.keyboard.press('Enter')
  await page.getByText('word41 ').first().waitFor()
  await page.evaluate(watchFrames)
  await page.getByText('word998').first().waitFor()
  const value = await page.evaluate<number>('window.longestFrame')
  await page.getByRole('button', { name: 'Copy answer' }).waitFor()
  return [
    { name: 'longest frame at 200 tokens/s into an answer of 100 KB', value, budget: 50, unit: 'ms' },
    { name: 'heap with an answer of 100 KB', value: await heapOf(page), budget: 80, unit: 'MB' },
  ]
}
