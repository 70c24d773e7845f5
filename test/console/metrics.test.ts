import assert from 'node:assert/strict'
import { browserTest, openConsole, startConsoleService } from './browser-fixture.ts'

browserTest('Metrics: figures are drawn, stand in tables, and lead to runs and tools', async (t) => {
  const service = await startConsoleService(t, { config: { tools: [{ name: 'calculator', type: 'calculator' }] } })
  const operator = { who: { sub: 'op', roles: ['operator'] }, service }
  const { page, open, checkAccessibility } = await openConsole(t, operator)
  await open('/metrics')
  await page.getByRole('heading', { name: 'No run has ended in this period' }).waitFor()
  for (const text of ['What is 17% of 2340?', 'Hello']) {
    await service.client.chat(text)
  }

  await page.reload()
  await page.getByRole('img', { name: /^Runs by hour, All, Errors/ }).waitFor()
  assert.ok((await page.locator('canvas').count()) >= 3, 'charts are drawn')
  await page.getByRole('button', { name: 'Runs as a table' }).press('Enter')
  const table = page.getByRole('region', { name: 'Runs, table' })
  assert.match(await table.getByRole('row').nth(1).innerText(), /2\s+0$/)
  await checkAccessibility()
  await page.getByRole('row', { name: /^calculator 1 0 0 %/ }).waitFor()

  await page.getByRole('combobox', { name: 'Groups' }).click()
  await page.getByRole('option', { name: 'By caller' }).click()
  assert.match(page.url(), /by=sub/)
  await page.getByRole('row', { name: /^ann 2 0/ }).waitFor()
  await checkAccessibility()
  await page.getByRole('link', { name: 'ann' }).click()
  await page.getByRole('heading', { name: 'Runs' }).waitFor()
  assert.match(page.url(), /\/runs\?sub=ann&period=24h/)

  await open('/tools/calculator')
  await page.getByText('Calls, 7 days').waitFor()
})

browserTest('Metrics: where no price is known, a link leads to the prices of the form, or to their page', async (t) => {
  const service = await startConsoleService(t)
  await service.client.chat('Hello')
  const admin = await openConsole(t, { who: { sub: 'ann', roles: ['admin'] }, service })
  await admin.open('/metrics')
  await admin.page.getByRole('link', { name: 'set prices' }).click()
  const box = await admin.page.getByRole('region', { name: 'Prices' }).boundingBox()
  assert.ok(box && box.y > 0 && box.y < 500, `the prices stand at ${box?.y} px`)

  const reader = await openConsole(t, { who: { sub: 'op', roles: ['operator'] }, service })
  await reader.open('/metrics')
  const link = reader.page.getByRole('link', { name: 'what a run costs' })
  assert.match((await link.getAttribute('href')) ?? '', /real-model#what-a-run-costs$/)
})
