import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { checkLines } from '../../src/audit/check-ledger.ts'
import type { Client } from '../fixtures/service-client.ts'
import { browserTest, openConsole, type ConsoleOptions } from './browser-fixture.ts'

const makeKey = (client: Client, sub: string) => client.request('POST', '/core/v1/keys', { body: { sub, roles: ['viewer'] } })

/** Opens the console for an auditor of a tenant in which keys were made. */
async function openLedger(t: TestContext, options: ConsoleOptions = {}) {
  const opened = await openConsole(t, { script: { text: 'ok' }, who: { sub: 'carl', roles: ['auditor'] }, ...options })
  const admin = await opened.service.as({ sub: 'root', roles: ['admin'] })
  const made = []
  for (const sub of ['ada', 'bea', 'cid']) made.push((await makeKey(admin, sub)).body.jti)
  await admin.request('DELETE', `/core/v1/keys/${made[0]}`)
  return { ...opened, admin, made }
}

browserTest('Audit: an auditor sees the ledger alone, filters it and opens an event by its address', async (t) => {
  const { page, open, made, checkAccessibility } = await openLedger(t)
  await open('/')
  await page.getByRole('heading', { name: 'Audit' }).waitFor()
  assert.deepEqual(await page.getByRole('navigation').getByRole('link').allTextContents(), ['Audit'])
  const rows = page.getByRole('main').getByRole('article')
  await rows.filter({ hasText: 'Key revoked' }).waitFor()
  await page.getByRole('textbox', { name: 'Target' }).fill(`key:${made[1]}`)
  await page.getByRole('textbox', { name: 'Target' }).press('Enter')
  await rows.filter({ hasText: 'Key revoked' }).waitFor({ state: 'detached' })
  await rows.first().waitFor()
  assert.equal(await rows.count(), 1)
  await rows.getByRole('button').click()
  await rows.getByText('"bea"').waitFor()
  await rows.getByText('root (agent-core), with a key').waitFor()
  assert.match(page.url(), /target=key%3A.*&event=[0-9a-f-]{36}$/)
  await checkAccessibility()
  await page.reload()
  await rows.getByText('"bea"').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await rows.nth(3).waitFor()
  await page.getByRole('textbox', { name: 'Actor' }).fill('nobody')
  await page.getByRole('textbox', { name: 'Actor' }).press('Enter')
  await page.getByRole('heading', { name: 'No event matches' }).waitFor()
})

browserTest('Audit: the browser verifies the chain, and an export is verified without the service', async (t) => {
  const { page, open, service, checkAccessibility } = await openLedger(t)
  await open('/audit')
  await page.getByRole('button', { name: 'Verify the chain' }).click()
  await page.getByText(/Chain verified up to seq \d+/).waitFor()
  await page.getByText(/\d+ events from the first event, signed to its end\./).waitFor()
  await page.getByText('Whether the end was cut off, only a head shows that lies elsewhere').waitFor()
  await checkAccessibility()
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByRole('article').filter({ hasText: 'Ledger exported' }).first().waitFor()
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Export' }).click()
  const lines = (await readFile(await (await download).path(), 'utf8')).trimEnd().split('\n')
  const { jwks } = (await (await service.as({ roles: ['auditor'] })).request('GET', '/core/v1/audit/heads')).body
  const [chain] = await checkLines(toAsync(lines), { keys: jwks.keys })
  assert.ok(chain!.count >= 5 && chain!.signedTo === chain!.to)
})

browserTest('Audit: a changed event is named where it is', async (t) => {
  const { page, open, context } = await openLedger(t)
  await context.route('**/audit/export', async (route) => {
    const reply = await route.fetch()
    await route.fulfill({ response: reply, body: (await reply.text()).replace('"sub":"bea"', '"sub":"eve"') })
  })
  await open('/audit')
  await page.getByRole('button', { name: 'Verify the chain' }).click()
  await page.getByText(/Broken at seq \d+: hash does not match\. Right up to seq \d+\./).waitFor()
})

browserTest('Audit: a user has no such screen', async (t) => {
  const { page, open } = await openLedger(t, { who: { sub: 'ann', roles: ['user'] } })
  await open('/audit')
  await page.getByRole('heading', { name: 'Your key does not permit this' }).waitFor()
  assert.equal(await page.getByRole('navigation').getByRole('link', { name: 'Audit' }).count(), 0)
})

async function* toAsync(lines: readonly string[]): AsyncGenerator<string, void> {
  yield* lines
}
