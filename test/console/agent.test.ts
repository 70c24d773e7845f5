import assert from 'node:assert/strict'
import { browserTest, openConsole, startConsoleService } from './browser-fixture.ts'

const yaml = `# What it is
name: Ledger
uri_id: ledger
description: Adds numbers up.
llms:
  primary: { provider: openai-compatible, model: one, base_url: "https://models.example/v1", api_key: sk-stored }
tools:
  - name: calculator
`
const admin = { sub: 'ann', roles: ['admin'] }

browserTest('Agent: a change is completed, checked, compared and saved', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, { yaml, who: admin, allowed: [/422/] })
  const client = await service.as(admin)
  await open('/agent?tab=yaml')
  const editor = page.getByRole('textbox', { name: 'agent.yaml' })
  await editor.press('Control+End')
  await editor.pressSequentially('max_it')
  await page.getByRole('option', { name: /max_iterations/ }).waitFor()
  await checkAccessibility()
  await page.waitForTimeout(100)
  await editor.press('Enter')
  await editor.pressSequentially('0')
  await page.getByRole('button', { name: /max_iterations must be 1 or more.*Line 9/s }).waitFor()
  await editor.press('Backspace')
  await editor.pressSequentially('12')
  await editor.press('Control+s')
  const changes = page.getByRole('list', { name: 'Changes of the draft' })
  assert.match(await changes.innerText(), /max_iterations\s+\+\s+After:\s+12/)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Names and values complete as you type').waitFor()
  const { configuration } = (await client.request('GET', '/core/v1/agent/config')).body
  assert.deepEqual([configuration.max_iterations, configuration.llms.primary.api_key], [12, '********'])

  // Only the service knows that a secret does not follow to another address.
  await editor.getByText('models.example').click()
  await editor.pressSequentially('x')
  await editor.press('Control+s')
  await page.getByRole('button', { name: /llms\.primary\.api_key .*Line 6/s }).click()
  assert.equal(await editor.evaluate((element) => element === element.ownerDocument.activeElement), true)
  await checkAccessibility()
})

browserTest('Agent: the form changes the same text, with the same difference, and keeps comments', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, { yaml, who: admin })
  const client = await service.as(admin)
  await open('/agent')
  const form = page.getByRole('region', { name: 'Form' })
  await form.getByRole('textbox', { name: 'Instructions' }).pressSequentially('Add up.\nSay so. ')
  await form.getByRole('textbox', { name: 'Temperature' }).pressSequentially('0.25')
  await form.getByRole('textbox', { name: 'Input' }).pressSequentially('1.5')
  await form.getByRole('textbox', { name: 'Output' }).fill('6')
  assert.equal(await form.locator('textarea').count(), 1, 'the instructions alone have several lines')
  await form.getByRole('button', { name: 'Add question' }).click()
  await form.getByRole('textbox', { name: 'Button' }).fill('A sum')
  await form.getByRole('textbox', { name: 'Question' }).fill('What is 2 + 2?')
  await form.getByRole('combobox', { name: 'calculator' }).click()
  await page.getByRole('option', { name: 'required' }).click()
  await checkAccessibility()
  const changes = page.getByRole('list', { name: 'Changes of the draft' })
  await changes.getByText('tools[calculator].approval').waitFor()
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Change a field: what differs').waitFor()
  const { configuration } = (await client.request('GET', '/core/v1/agent/config')).body
  assert.equal(configuration.instructions, 'Add up.\nSay so. ')
  assert.deepEqual(configuration.conversation_starters, [{ title: 'A sum', message: 'What is 2 + 2?' }])
  const { temperature, prices, api_key } = configuration.llms.primary
  assert.deepEqual({ temperature, prices, api_key }, { temperature: 0.25, prices: { input: 1.5, output: 6 }, api_key: '********' })
  assert.equal(configuration.tools[0].approval, 'required')

  await page.getByRole('tab', { name: 'agent.yaml' }).click()
  await page.getByRole('textbox', { name: 'agent.yaml' }).getByText('# What it is').waitFor()
  await page.getByRole('tab', { name: 'Form' }).click()
  await form.getByRole('textbox', { name: 'Model', exact: true }).fill('')
  await page.getByRole('button', { name: /llms\.primary\.model is required but missing/ }).click()
  await page.getByRole('textbox', { name: 'agent.yaml' }).waitFor()
})

browserTest('Agent: a conflict keeps the draft, also over a reload, and shows what the other person changed', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, { yaml, who: admin, allowed: [/412/] })
  const client = await service.as(admin)
  await open('/agent?tab=yaml')
  const editor = page.getByRole('textbox', { name: 'agent.yaml' })
  await editor.getByText('name: Ledger').click()
  await editor.press('End')
  await editor.pressSequentially(' Two')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByRole('button', { name: 'Save' }).waitFor()
  await client.request('PUT', '/core/v1/agent/config', { body: { configuration: { description: 'Counts.' } } })
  await page.getByRole('button', { name: 'Save' }).click()
  const conflict = page.getByRole('alert', { name: 'Conflict' })
  await conflict.getByText('Counts.').waitFor()
  await checkAccessibility()

  page.once('dialog', (dialog) => void dialog.accept())
  await page.reload()
  await conflict.getByText('Counts.').waitFor()
  assert.match(await editor.innerText(), /Ledger Two/)
  await page.getByRole('button', { name: 'Merge both' }).click()
  await editor.getByText('description: Counts.').waitFor()
  assert.match(await page.getByRole('list', { name: 'Changes of the draft' }).innerText(), /^name\s[^]*Ledger Two$/)

  await page.getByRole('link', { name: 'Tools' }).click()
  await page.getByRole('dialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Stay' }).click()
  await page.getByRole('button', { name: 'Discard changes' }).click()
  await editor.getByText('name: Ledger', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Tools' }).click()
  await page.waitForURL('**/tools')
})

browserTest('Agent: a change stays in memory, and an earlier version is restored after confirmation', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, { yaml, who: admin })
  const client = await service.as(admin)
  const nameInUse = async () => (await client.request('GET', '/core/v1/agent/config')).body.configuration.name
  await client.request('PUT', '/core/v1/agent/config', { body: { configuration: { name: 'Second' } } })
  await open('/agent?tab=yaml')
  const editor = page.getByRole('textbox', { name: 'agent.yaml' })
  await editor.getByText('name: Second').click()
  await editor.press('End')
  await editor.pressSequentially(' Try')
  await editor.press('Control+s')
  await page.getByRole('checkbox', { name: 'In memory only' }).check()
  await page.getByRole('button', { name: 'Use in memory' }).click()
  await page.getByText('In use, in memory only.').waitFor()
  assert.equal(await nameInUse(), 'Second Try')
  await page.getByRole('button', { name: 'Discard changes' }).click()

  await page.getByRole('tab', { name: 'History' }).click()
  await page
    .getByRole('article')
    .filter({ hasText: 'In memory only' })
    .getByRole('button', { name: /^Changes/ })
    .click()
  await page
    .getByRole('list', { name: /^Values of version/ })
    .getByText('Second Try')
    .waitFor()
  const first = page.getByRole('article').filter({ hasText: 'First configuration' })
  await checkAccessibility()
  await first.getByRole('button', { name: /^Restore/ }).click()
  const dialog = page.getByRole('dialog', { name: 'Restore this version?' })
  await dialog.getByRole('list', { name: 'Changes of the restoration' }).getByText('Ledger').waitFor()
  await checkAccessibility()
  await dialog.getByRole('button', { name: 'Restore' }).click()
  await page.getByRole('article').filter({ hasText: 'Restored' }).getByText('in use').waitFor()
})

browserTest('Agent: a reader sees the text and its history, a user neither, at 375 px in the dark', async (t) => {
  const service = await startConsoleService(t, { yaml, config: {} })
  const small = { viewport: { width: 375, height: 720 }, colorScheme: 'dark' as const, service }
  const reader = await openConsole(t, { ...small, who: { sub: 'rob', roles: ['operator'] } })
  await reader.open('/agent?tab=yaml')
  const editor = reader.page.getByRole('textbox', { name: 'agent.yaml' })
  await editor.press('x')
  assert.doesNotMatch(await editor.innerText(), /x#/)
  assert.equal(await reader.page.getByRole('button', { name: 'Check' }).count(), 0)
  assert.equal(await reader.page.evaluate('document.documentElement.scrollWidth'), 375)
  await reader.checkAccessibility()
  await reader.page.getByRole('tab', { name: 'History' }).click()
  await reader.page.getByText('First configuration').waitFor()
  assert.equal(await reader.page.getByRole('button', { name: /^Restore/ }).count(), 0)
  await reader.checkAccessibility()

  const user = await openConsole(t, { ...small, service })
  await user.open('/agent')
  await user.page.getByText('Your key does not permit this').waitFor()
})
