import assert from 'node:assert/strict'
import { browserTest, openConsole, startConsoleService } from './browser-fixture.ts'

/** A model of 1 USD for a million tokens of input, and 3 of output: this answer costs 0.001 USD. */
const modelFields = { prices: { input: 1, output: 3 } }
const script = { text: 'Four.', usage: { input: 100, output: 300 } }
const admin = { sub: 'boss', roles: ['admin'] }
const budgets = [
  { name: 'caller-day', scope: 'caller', window: 'day', timezone: 'Asia/Kathmandu', limit: { usd: 0.0015 } },
  { name: 'tenant-month', scope: 'tenant', window: 'month', limit: { usd: 1, tokens: 20_000 }, on_exceeded: 'pause' },
]

browserTest('Budgets: an administrator sees what is spent of each limit, raises one by keyboard, and restores it', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, {
    script,
    modelFields,
    config: { budgets },
    who: admin,
    allowed: [/status of 409/],
  })
  await service.client.chat('2 + 2?')
  assert.equal((await service.client.chat('2 + 2?')).status, 429)
  await open('/budgets')
  const row = page.getByRole('article', { name: 'caller-day, ann' })
  await row.getByText('$0.001 spent, $0 reserved of $0.0015').waitFor()
  await row.getByText('in Asia/Kathmandu').waitFor()
  assert.equal(await row.getByRole('meter').getAttribute('aria-valuenow'), '67')
  const tenant = page.getByRole('article', { name: 'tenant-month, tenant default' })
  await tenant.getByText('400 tokens spent, 0 tokens reserved of 20,000 tokens, 19,600 tokens left').waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await checkAccessibility()
  }

  await row.getByRole('button', { name: 'Change limit of caller-day, ann' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Change the limit of caller-day' })
  const field = dialog.getByRole('textbox', { name: 'Limit in USD' })
  await field.fill('2')
  await checkAccessibility()
  await field.press('Enter')
  await dialog
    .getByRole('alert')
    .getByText(/tenant-month/)
    .waitFor()
  await field.fill('0.5')
  await field.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  await row.getByText(/limit changed to \$0\.50 by boss, until/).waitFor()
  await row.getByText('$0.001 spent, $0 reserved of $0.50, $0.50 left').waitFor()
  assert.equal((await service.client.chat('2 + 2?')).status, 200)

  await row.getByRole('button', { name: 'Restore limit of caller-day, ann' }).press('Enter')
  await page.getByRole('button', { name: 'Restore', exact: true }).press('Enter')
  await row.getByText(/\$0\.0015 · used up/).waitFor()
})

browserTest('Budgets: filters by name and scope are in the address, and a name that matches nothing says so', async (t) => {
  const { page, open } = await openConsole(t, { script, modelFields, config: { budgets }, who: admin })
  await open('/budgets?scope=tenant')
  await page.getByRole('article', { name: 'tenant-month, tenant default' }).waitFor()
  assert.equal(await page.getByRole('article').count(), 1)
  const name = page.getByRole('textbox', { name: 'Name' })
  await name.fill('nothing')
  await name.press('Enter')
  await page.getByRole('heading', { name: 'No budget matches' }).waitFor()
  assert.match(page.url(), /scope=tenant&name=nothing/)
})

browserTest('Budgets: a user sees own budgets alone, and cannot change them', async (t) => {
  const { page, open } = await openConsole(t, { script, modelFields, config: { budgets } })
  await open('/budgets')
  await page.getByRole('article', { name: 'caller-day, ann' }).waitFor()
  assert.deepEqual([await page.getByRole('article').count(), await page.getByRole('button', { name: /limit/i }).count()], [1, 0])
})

browserTest('Budgets: without budgets the screen shows the lines to write, and the navigation folds it', async (t) => {
  const service = await startConsoleService(t, { script })
  const { page, open, checkAccessibility } = await openConsole(t, { service, who: admin })
  await open('/budgets')
  await page.getByRole('heading', { name: 'Nothing limits what model calls cost' }).waitFor()
  await page.getByRole('region', { name: 'Lines of agent.yaml' }).getByText('scope: caller').waitFor()
  assert.match((await page.getByRole('link', { name: 'guide' }).getAttribute('href')) ?? '', /docs\/guides\/budgets$/)
  await checkAccessibility()
  await open('/chat')
  await page.getByText('More', { exact: true }).click()
  await page.getByRole('navigation').getByRole('link', { name: 'Budgets' }).waitFor()
})
