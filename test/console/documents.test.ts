import assert from 'node:assert/strict'
import { browserTest, openConsole, startConsoleService } from './browser-fixture.ts'

const handbook = { name: 'garage.md', mimeType: 'text/markdown', buffer: Buffer.from('# Garage\n\nGuests park on level 7.\n') }
const archive = { name: 'all.zip', mimeType: 'application/zip', buffer: Buffer.from('PK') }
const picture = { name: 'plan.png', mimeType: 'image/png', buffer: Buffer.from('x') }

browserTest(
  'Documents: are added, read, replaced and deleted; what is no document is refused with the place where it belongs',
  async (t) => {
    const service = await startConsoleService(t, { config: { tools: [{ name: 'knowledge_search' }] } })
    const { page, open, checkAccessibility } = await openConsole(t, { service, who: { sub: 'ann', roles: ['admin'] } })
    await open('/files')
    await page.getByRole('tab', { name: 'Documents' }).click()
    await page.getByRole('heading', { name: 'There are no documents yet' }).waitFor()
    await checkAccessibility()
    const add = (files: (typeof handbook)[]) =>
      page.getByLabel('Documents', { exact: true }).and(page.locator('input')).setInputFiles(files)
    await add([handbook, archive, picture])
    await page.getByText(/all\.zip is not a document that the agent reads: text, Markdown, PDF/).waitFor()
    await page.getByText('plan.png is a picture. Pictures go into the chat, with your question.').waitFor()
    const row = page.getByRole('article').filter({ hasText: 'garage.md' })
    await row.getByText('ready', { exact: true }).waitFor()
    await row.getByText(/34 B · 1 passage ·/).waitFor()
    await checkAccessibility()

    await add([{ ...handbook, buffer: Buffer.from('# Garage\n\nGuests park on level 8 by now.\n') }])
    await row.getByText(/41 B · 1 passage ·/).waitFor()
    await page.getByText(/34 B/).waitFor({ state: 'detached' })
    await row.getByRole('button', { name: 'Delete garage.md' }).click()
    await page.getByRole('dialog', { name: 'Delete this document?' }).getByRole('button', { name: 'Delete' }).click()
    await row.waitFor({ state: 'detached' })

    const user = await openConsole(t, { service, viewport: { width: 375, height: 800 }, colorScheme: 'dark' })
    await user.open('/files?tab=documents')
    await user.page.getByText('Your own files go into the chat').waitFor()
    assert.equal(await user.page.getByRole('button', { name: 'Add documents' }).count(), 0)
    await user.checkAccessibility()
  },
)

browserTest('Documents: the chat takes documents beside pictures, and says why another file is refused', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, { script: { text: 'On level 7.' } })
  await open('/chat')
  const files = page.getByLabel('Pictures and documents').and(page.locator('input'))
  await files.setInputFiles([handbook, archive])
  await page.getByText(/all\.zip is not a document that the agent reads/).waitFor()
  await page.getByRole('list', { name: 'Attached' }).getByText('garage.md').waitFor()
  await checkAccessibility()
  await page.getByRole('textbox', { name: 'Your question' }).fill('Where do guests park?')
  await page.keyboard.press('Enter')
  await page.getByText('On level 7.').waitFor()
  assert.match(JSON.stringify(service.model.requests[0]!.body.messages), /Guests park on level 7\./)
  await page.reload()
  await page.getByRole('article', { name: 'Question' }).getByText('garage.md').waitFor()
})
