import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { browserTest, openConsole, withoutTransitions } from './browser-fixture.ts'
import { ann, exampleRun, exampleSession, startWithData } from './example-data.ts'

/** Patterns and titles in `screens.tsx`, which Node cannot import. */
const source = readFileSync(path.join(import.meta.dirname, '../../console/src/screens.tsx'), 'utf8')
const screens = Array.from(source.matchAll(/path: '([^']+)',\s+title: '([^']+)'/g), ([, pattern = '', title = '']) => ({ pattern, title }))

/** Addresses of screens with a parameter. */
const addresses: Record<string, string> = {
  '/chat/:session?': `/chat/${exampleSession}`,
  '/runs/:id': `/runs/${exampleRun}`,
  '/tools/:name?': '/tools/calculator',
  '/evals/*?': '/evals',
}

/** A text in the first row of each screen, or in what the user works with there. */
const rowTexts: Record<string, string> = {
  Chat: 'How are the sales?',
  Runs: 'Do the impossible.',
  Run: 'look',
  Approvals: 'Bob',
  Schedules: 'Morning report',
  Schedule: 'success',
  Tools: 'calculator',
  Evals: 'core',
  'Sub-agents': 'researcher',
  Memories: 'The user lives in Rome.',
  Files: 'sales.csv',
  Deliveries: '/hook',
  Budgets: 'caller-day',
  Keys: 'carol',
  Audit: 'Key created',
}

browserTest('Every screen: no violation of its policy, no error, no foreign request, accessible, at any size, by keyboard', async (t) => {
  assert.ok(screens.length >= 8, 'the screens are read from their table')
  const service = await startWithData(t)
  const { schedules } = (await (await service.as(ann)).request('GET', '/core/v1/schedules')).body
  addresses['/schedules/:id'] = `/schedules/${schedules[0].id}`
  for (const { pattern, title } of screens) {
    await t.test(title, async (t) => {
      const { page, open, checkAccessibility } = await openConsole(t, { service, who: ann })
      const address = addresses[pattern] ?? pattern
      assert.doesNotMatch(address, /:/, `An example address of ${pattern} is missing in this test.`)
      await open(address)
      await settle(page, title)
      await reachesFirstRow(page, title)
      await page.evaluate(withoutTransitions)
      for (const width of [1280, 375]) {
        await page.setViewportSize({ width, height: 800 })
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          await t.test(`${colorScheme}, ${width} px`, () => checkAccessibility())
        }
      }
      assert.deepEqual(await page.evaluate(findWideElements), [], 'the page does not scroll sideways at 375 px')
    })
  }
})

/** Waits until a screen has loaded what it shows. */
async function settle(page: Page, title: string): Promise<void> {
  await page.locator('h1').first().waitFor()
  const text = rowTexts[title]
  if (text !== undefined) await page.getByRole('main').getByText(text).first().waitFor()
  await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' })
}

/** The skip link is the first stop of the keyboard, leads to the content, and Tab goes on to the first row. */
async function reachesFirstRow(page: Page, title: string): Promise<void> {
  // A page with a field may begin in it: the first stop is the first element of the document that Tab reaches.
  const first = page.locator('a[href], button, input, textarea, select, [tabindex="0"]').first()
  assert.equal(await first.textContent(), 'Skip to content')
  await first.focus()
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate('document.activeElement.id'), 'main')
  const text = rowTexts[title]
  if (text === undefined) return
  const focus = page.locator('#main :focus:not([role="region"])')
  const rows = page.locator('#main').locator('[role="row"], [role="listitem"], li, article').filter({ hasText: text })
  const reached = focus.filter({ hasText: text }).or(rows.locator(':focus'))
  const stops: string[] = []
  for (let stop = 0; stop < 40; stop++) {
    await page.keyboard.press('Tab')
    stops.push(await page.evaluate<string>('document.activeElement.textContent.slice(0, 40)'))
    if ((await reached.count()) > 0) return
  }
  assert.fail(`Tab does not reach "${text}", but ${stops.join(' | ')}`)
}

/** Elements that make the page scroll sideways: empty when it does not. A text, because it runs in the page, whose types are not Node's. */
const findWideElements = `(() => {
  const scrollers = [document.documentElement, document.body, document.getElementById('main')]
  if (scrollers.every(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)) return []
  const wide = [...document.querySelectorAll('main *')].filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  return wide.slice(0, 5).map((element) => element.outerHTML.slice(0, 200))
})()`
