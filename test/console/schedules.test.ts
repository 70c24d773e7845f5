import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { browserTest, openConsole, signIn, startConsoleService } from './browser-fixture.ts'

const script = { text: 'Sales went up by 4 %.' }
const request = { messages: [{ role: 'user', content: 'What were the total sales by region?' }] }
const daily = { name: 'Morning report', cron: '0 8 * * *', timezone: 'Asia/Kolkata', request }
const shots = process.env['SHOTS']

async function shot(page: Page, name: string): Promise<void> {
  if (shots !== undefined) await page.screenshot({ path: `${shots}/${name}.png` })
}

async function inBothThemes(page: Page, name: string, check: () => Promise<void>): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await check()
    await shot(page, `${name}-${colorScheme}`)
  }
}

browserTest('Schedules: one is created with a preview of its times in both zones, and its run is a dot of its history', async (t) => {
  const { page, open, checkAccessibility } = await openConsole(t, { script, allowed: [/status of 422/] })
  await open('/schedules')
  await page.getByRole('heading', { name: 'There are no schedules' }).waitFor()
  assert.match((await page.getByRole('link', { name: 'guide' }).getAttribute('href')) ?? '', /docs\/guides\/schedules$/)
  await page.getByRole('button', { name: 'New schedule' }).first().press('Enter')
  const dialog = page.getByRole('dialog', { name: 'New schedule' })
  await dialog.getByRole('textbox', { name: 'Question' }).fill('What were the total sales by region?')
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Morning report')
  await dialog.getByRole('combobox', { name: 'Time zone' }).fill('Kolk')
  await page.getByRole('option', { name: 'Asia/Kolkata' }).click()
  const times = dialog.getByRole('region', { name: 'Next times' })
  await times.getByRole('columnheader', { name: 'Asia/Kolkata' }).waitFor()
  await times
    .getByRole('cell', { name: /08:00$/ })
    .first()
    .waitFor()
  assert.equal(await times.getByRole('row').count(), 6)
  await times
    .getByRole('cell', { name: /02:30$/ })
    .first()
    .waitFor()
  await dialog.getByText('More settings').click()
  await inBothThemes(page, 'schedule-form', checkAccessibility)

  await dialog.getByRole('combobox', { name: 'Repeats' }).click()
  await page.getByRole('option', { name: 'Cron pattern' }).click()
  const pattern = dialog.getByRole('textbox', { name: 'Pattern' })
  await pattern.fill('0 8 30 2 *')
  await times.getByText('Pattern: never fires: no month has such a day.').waitFor()
  await pattern.fill('0 8 * * *')
  await dialog.getByRole('button', { name: 'Create' }).press('Enter')
  await page.getByRole('heading', { name: 'Morning report' }).waitFor()
  await page.getByText('Every day at 08:00 (Asia/Kolkata)').waitFor()

  await page.getByRole('button', { name: 'Run now' }).press('Enter')
  const dot = page.getByRole('region', { name: 'History' }).getByRole('link', { name: /success$/ })
  await dot.waitFor()
  await inBothThemes(page, 'schedule', checkAccessibility)
  // The request id of the run has colons.
  await dot.press('Enter')
  await page.getByRole('heading', { name: 'Run', exact: true }).waitFor()
  await page.getByText('Sales went up by 4 %.').first().waitFor()
  await page.getByRole('main').getByRole('link', { name: 'Schedule', exact: true }).press('Enter')
  await page.getByRole('heading', { name: 'Morning report' }).waitFor()
  await page.getByRole('link', { name: 'Runs of all schedules' }).press('Enter')
  await page.getByRole('link', { name: 'What were the total sales by region?' }).waitFor()
})

browserTest('Schedules: one is paused, resumed, edited unless somebody else did meanwhile, and deleted', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, { script, allowed: [/status of 412/] })
  const { body: created } = await service.client.request('POST', '/core/v1/schedules', { body: daily })
  const path = `/core/v1/schedules/${created.id}`
  await open('/schedules')
  await page.getByRole('link', { name: 'Morning report' }).press('Enter')
  await page.getByRole('button', { name: 'Pause' }).press('Enter')
  await page.getByRole('button', { name: 'Resume' }).press('Enter')
  await page.getByRole('button', { name: 'Pause' }).waitFor()

  await page.getByRole('button', { name: 'Edit' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Edit schedule' })
  assert.ok(await dialog.getByRole('button', { name: 'Save' }).isDisabled(), 'nothing is to be saved yet')
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Evening report')
  await service.client.request('PATCH', path, { body: { name: 'Noon report' } })
  await page.getByRole('heading', { name: 'Noon report', includeHidden: true }).waitFor()
  await dialog.getByRole('button', { name: 'Save' }).press('Enter')
  const conflict = dialog.getByRole('alert')
  await conflict.getByText('The schedule was changed meanwhile').waitFor()
  await checkAccessibility()
  await conflict.getByRole('button').press('Enter')
  const name = dialog.getByRole('textbox', { name: 'Name' })
  assert.equal(await name.inputValue(), 'Noon report')
  await name.fill('Evening report')
  await dialog.getByRole('textbox', { name: 'At' }).fill('18:30')
  await dialog.getByText('More settings').click()
  await dialog.getByLabel(/^Not before/).fill('2027-01-01T09:00')
  await dialog.getByLabel(/^Not after/).fill('2037-01-01T09:00')
  await dialog.getByRole('textbox', { name: 'Number of runs' }).fill('100')
  await dialog.getByRole('textbox', { name: 'How late' }).fill('600')
  await dialog.getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByText('Every day at 18:30 (Asia/Kolkata)').waitFor()
  const { body: changed } = await service.client.request('GET', path)
  assert.deepEqual(
    [changed.name, changed.cron, changed.timezone, changed.request],
    ['Evening report', '30 18 * * *', 'Asia/Kolkata', request],
  )
  const { starts_at: startsAt, ends_at: endsAt } = changed
  assert.deepEqual([Date.parse(endsAt) - Date.parse(startsAt), changed.max_fires, changed.catch_up.window], [3653 * 86_400_000, 100, 600])

  await page.getByRole('button', { name: 'Delete' }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter')
  await page.getByText('ended', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: /Run now|Edit|Pause/ }).count(), 0)
})

browserTest(
  'Schedules: a viewer changes nothing, and an administrator pauses and ends those of others, and does not run them',
  async (t) => {
    const service = await startConsoleService(t, { script })
    await service.client.request('POST', '/core/v1/schedules', { body: daily })
    const { page, open, context } = await openConsole(t, { service, who: { sub: 'ann', roles: ['viewer'] } })
    await open('/schedules')
    await page.getByRole('link', { name: 'Morning report' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'New schedule' }).count(), 0)
    await page.getByRole('link', { name: 'Morning report' }).press('Enter')
    await page.getByRole('heading', { name: 'No time has come yet' }).waitFor()
    assert.equal(await page.getByRole('button', { name: /Run now|Pause|Edit|Delete/ }).count(), 0)
    await signIn(context, service, { sub: 'boss', roles: ['admin'] })
    await open('/schedules')
    await page.getByRole('columnheader', { name: 'Caller' }).waitFor()
    await page.getByRole('link', { name: 'Morning report' }).press('Enter')
    await page.getByRole('button', { name: 'Pause' }).press('Enter')
    await page.getByText('paused', { exact: true }).waitFor()
    assert.equal(await page.getByRole('button', { name: /Run now|Resume|Edit/ }).count(), 0)
    await page.getByRole('button', { name: 'Delete' }).waitFor()
  },
)

browserTest('Schedules: where they are switched off the navigation folds them', async (t) => {
  const { page, open } = await openConsole(t, { script, config: { schedules: { enabled: false } } })
  await open('/chat')
  await page.getByText('More', { exact: true }).click()
  await page.locator('details').getByRole('link', { name: 'Schedules' }).waitFor()
})

browserTest('Schedules: form and history fit a phone, and every state of a time is told in words', async (t) => {
  const viewport = { width: 375, height: 740 }
  const { page, open, service, checkAccessibility } = await openConsole(t, { script, viewport })
  const { body: created } = await service.client.request('POST', '/core/v1/schedules', { body: daily })
  const outcomes = ['started', 'skipped', 'missed', 'refused'] as const
  const fires = Array.from({ length: 48 }, (_, index) => {
    const outcome = outcomes[index % 12 === 3 ? 1 : index % 12 === 5 ? 2 : index % 12 === 7 ? 3 : 0]
    const time = new Date(Date.UTC(2026, 10, 28 - index, 2, 30)).toISOString()
    const reasons = { skipped: 'overlap', missed: undefined, refused: 'RateLimited' }
    const run = {
      request_id: `schedule:${created.id}:${index}`,
      status: ['success', 'error', 'running'][index % 12 === 9 ? 1 : index === 0 ? 2 : 0],
    }
    const count = outcome === 'missed' ? { count: 7 } : {}
    return { scheduled_for: time, fired_at: time, outcome, ...(outcome === 'started' ? run : { reason: reasons[outcome] }), ...count }
  })
  await page.route('**/fires*', (route) => route.fulfill({ json: { fires, offset: '', has_more: false } }))
  await open(`/schedules/${created.id}`)
  const history = page.getByRole('region', { name: 'History' })
  await history
    .getByRole('link', { name: /error$/ })
    .first()
    .waitFor()
  for (const words of [/skipped, overlap/, /missed, 7 times/, /refused, RateLimited/, /running/]) {
    await history
      .getByText(words)
      .or(history.getByRole('link', { name: words }))
      .first()
      .waitFor()
  }
  assert.equal(await history.getByRole('listitem').count(), 48)
  const isWide = 'document.documentElement.scrollWidth > innerWidth'
  assert.equal(await page.evaluate(isWide), false)
  await inBothThemes(page, 'schedule-phone', checkAccessibility)
  await page.getByRole('button', { name: 'Edit' }).press('Enter')
  await page.getByRole('dialog').getByText('More settings').click()
  await page
    .getByRole('dialog')
    .getByRole('cell', { name: /08:00$/ })
    .first()
    .waitFor()
  assert.equal(await page.evaluate(isWide), false)
  await inBothThemes(page, 'schedule-form-phone', checkAccessibility)
})
