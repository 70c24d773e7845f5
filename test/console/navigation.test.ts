import assert from 'node:assert/strict'
import { browserTest, openConsole } from './browser-fixture.ts'
import { ann, startWithData } from './example-data.ts'

browserTest('Navigation: screens that hold nothing stand under More, and leave it once they hold something', async (t) => {
  const { page, open, checkAccessibility } = await openConsole(t, { who: ann })
  await open('/runs')
  const screens = page.getByRole('navigation', { name: 'Screens' })
  const links = () => screens.getByRole('link').allInnerTexts()
  await screens.getByText('More').waitFor()
  // Schedules are switched on, which the navigation learns after its first links.
  await screens.getByRole('link', { name: 'Schedules' }).waitFor()
  assert.deepEqual(await links(), [
    'Chat',
    'Runs',
    'Approvals',
    'Schedules',
    'Files',
    'Tools',
    'Agent',
    'Evals',
    'Metrics',
    'Keys',
    'Audit',
    'Health',
  ])
  await screens.getByText('More').click()
  await checkAccessibility()
  await screens.getByRole('link', { name: 'Memories' }).click()
  await page.getByRole('heading', { name: 'Nothing is remembered yet' }).waitFor()
  assert.equal(await screens.getByRole('link', { name: 'Memories' }).getAttribute('aria-current'), 'page')

  const filled = await openConsole(t, { service: await startWithData(t), who: ann })
  await filled.open('/runs')
  const link = (name: string) => filled.page.getByRole('navigation').getByRole('link', { name })
  for (const name of ['Sub-agents', 'Memories', 'Deliveries']) await link(name).waitFor()
  assert.equal(await filled.page.getByText('More', { exact: true }).count(), 0)
})
