import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { browserTest, openConsole } from './browser-fixture.ts'
import { ann, startWithData } from './example-data.ts'

const viewport = { width: 375, height: 720 }

browserTest('Phones: tables show what matters, filters fold, and a new chat begins at its top', async (t) => {
  const service = await startWithData(t)
  const { page, open, checkAccessibility } = await openConsole(t, { service, who: ann, viewport })
  await open('/runs')
  const row = page.getByRole('row', { name: /Do the impossible\./ })
  await isInView(page, row.getByText('error'))
  assert.ok(await page.getByRole('combobox', { name: 'Status' }).isVisible())
  assert.ok(await page.getByRole('textbox', { name: 'Version' }).isHidden())
  assert.ok(await page.getByRole('textbox', { name: 'Tool' }).isHidden())
  await page.getByRole('button', { name: 'More filters' }).click()
  for (const name of ['Caller', 'Tool', 'Version', 'Session']) assert.ok(await page.getByRole('textbox', { name }).isVisible(), name)
  await checkAccessibility()

  await open('/logs')
  await page.waitForURL('**/runs?tab=log')
  await isInView(page, page.getByRole('cell', { name: /This model cannot do it/ }))
  await open('/keys')
  await isInView(page, page.getByRole('button', { name: /^Revoke the key .* of carol/ }))
  await isInView(page, page.getByRole('row', { name: /carol/ }).getByText('active'))

  await open('/chat')
  const name = page.getByRole('heading', { name: 'Sales agent' })
  await page.getByRole('textbox', { name: 'Your question' }).waitFor()
  await page.setViewportSize({ width: 375, height: 360 })
  const { y } = (await name.boundingBox())!
  assert.ok(y > 52, `the name stands at ${y} px, below the header`)
})

browserTest('Phones: on a wide screen only version and session fold, and stay open while they filter', async (t) => {
  const { page, open, service } = await openConsole(t)
  await service.client.chat('Hello')
  await open('/runs')
  await page.getByRole('textbox', { name: 'Tool' }).waitFor()
  assert.ok(await page.getByRole('textbox', { name: 'Session' }).isHidden())
  await open('/runs?session=none')
  await page.getByRole('heading', { name: 'No run matches' }).waitFor()
  assert.equal(await page.getByRole('textbox', { name: 'Session' }).inputValue(), 'none')
})

/** Fails unless the whole element lies within the page's width. */
async function isInView(page: Page, element: ReturnType<Page['getByText']>): Promise<void> {
  await element.first().waitFor()
  const { x, width } = (await element.first().boundingBox())!
  assert.ok(x >= 0 && x + width <= page.viewportSize()!.width, `from ${x} to ${x + width} px`)
}

browserTest('Phones: an agent without tools says so, and leads to the place where tools are added', async (t) => {
  const { page, open, checkAccessibility } = await openConsole(t, { who: ann, viewport })
  await open('/tools')
  await page.getByRole('heading', { name: 'The agent has no tools' }).waitFor()
  assert.equal(await page.getByText('No tool matches').count(), 0)
  await checkAccessibility()
  await page.getByRole('link', { name: 'Add a tool' }).click()
  await page.waitForURL('**/agent?tab=yaml')
})
