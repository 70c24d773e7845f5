import assert from 'node:assert/strict'
import { browserTest, openConsole, startConsoleService } from './browser-fixture.ts'

browserTest('Keys: a key is created, shown once, used, and revoked', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, {
    who: { sub: 'boss', roles: ['admin'] },
    allowed: [/status of 422/],
  })
  await open('/keys')
  await page.getByRole('row', { name: /^admin.*active/ }).waitFor()
  await page.getByRole('button', { name: 'Create key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Caller' }).fill('alice')
  await dialog.getByRole('checkbox', { name: 'user' }).uncheck()
  await dialog.getByRole('checkbox', { name: 'viewer' }).check()
  await dialog.getByRole('combobox', { name: 'Expires after' }).click()
  await page.getByRole('option', { name: 'Other' }).click()
  await dialog.getByRole('textbox', { name: 'Lifetime' }).fill('soon')
  await checkAccessibility()
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await dialog.getByRole('alert').getByText('expires: must be a number and a unit').waitFor()
  assert.equal(await dialog.getByRole('textbox', { name: 'Caller' }).inputValue(), 'alice', 'what was typed stays')
  await dialog.getByRole('textbox', { name: 'Lifetime' }).fill('12h')
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()

  const field = dialog.getByRole('textbox', { name: 'Key' })
  const key = await field.inputValue()
  await page.keyboard.press('Escape')
  assert.ok(await field.isVisible(), 'Escape does not close the only view of the key')
  await checkAccessibility()
  await dialog.getByRole('button', { name: 'Done' }).click()
  assert.ok(!(await page.content()).includes(key), 'the key is gone with its dialog')
  assert.equal((await ask(service.url, key)).status, 200)

  await page.getByRole('row', { name: /alice.*viewer.*active/ }).waitFor()
  await page.getByRole('button', { name: /^Revoke the key .* of alice/ }).click()
  await checkAccessibility()
  await dialog.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByRole('row', { name: /alice.*revoked/ }).waitFor()
  assert.equal((await ask(service.url, key)).status, 401)
})

browserTest('Keys: a custom administrator gives no more than the own key has, and others do not see the page', async (t) => {
  const service = await startConsoleService(t, { config: { access: { roles: { clerk: ['chat', 'keys.manage'], nobody: [] } } } })
  const clerk = await openConsole(t, { service, who: { roles: ['clerk'] }, colorScheme: 'dark', viewport: { width: 375, height: 700 } })
  await clerk.open('/keys')
  await clerk.page.getByRole('button', { name: 'Create key' }).click()
  assert.ok(await clerk.page.getByRole('checkbox', { name: 'admin' }).isDisabled())
  assert.ok(await clerk.page.getByRole('checkbox', { name: 'clerk' }).isEnabled())
  await clerk.checkAccessibility()
  await clerk.page.getByRole('button', { name: 'Cancel' }).click()
  await clerk.page.getByRole('tab', { name: 'Roles' }).click()
  await clerk.page.getByRole('row', { name: /Create and revoke keys keys\.manage/ }).waitFor()
  await clerk.checkAccessibility()
  const width = await clerk.page.evaluate<number>('document.documentElement.scrollWidth')
  assert.equal(width, 375, 'the page does not scroll sideways')

  const viewer = await openConsole(t, { service, who: { roles: ['viewer'] } })
  await viewer.open('/keys')
  await viewer.page.getByRole('heading', { name: 'Your key does not permit this' }).waitFor()
  assert.equal(await viewer.page.getByRole('link', { name: 'Keys' }).count(), 0)
})

function ask(url: string, key: string): Promise<Response> {
  return fetch(`${url}/core/v1/me`, { headers: { 'x-service-access': key } })
}
