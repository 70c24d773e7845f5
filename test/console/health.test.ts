import assert from 'node:assert/strict'
import { browserTest, openConsole, startConsoleService } from './browser-fixture.ts'

browserTest('Health: warnings stand first with what to do, and the process that answers is listed', async (t) => {
  const service = await startConsoleService(t, {
    config: {
      tools: [
        { name: 'far', type: 'mcp', config: { command: 'no-such-command' } },
        { name: 'calculator', type: 'calculator' },
      ],
    },
  })
  const { page, open, checkAccessibility } = await openConsole(t, { service, who: { roles: ['operator'] } })
  await open('/health')
  const first = page.getByRole('region', { name: 'Checks' }).getByRole('listitem').first()
  await first.getByText(/error|warning/).waitFor()
  await page
    .getByRole('status')
    .getByText(/\d (error|warning)s?/)
    .waitFor()
  await page.getByRole('row', { name: /alive.*now/ }).waitFor()
  await checkAccessibility()
  await page.getByRole('link', { name: 'Health' }).waitFor()

  const foreign = await openConsole(t, { service, who: { tenant: 'other', roles: ['operator'] }, allowed: [/status of 403/] })
  await foreign.open('/health')
  await foreign.page.getByRole('heading', { name: 'Your key does not permit this' }).waitFor()
  await foreign.page.getByText("administrators' tenant").waitFor()
  assert.equal(await foreign.page.getByRole('link', { name: 'Health' }).count(), 0)
})
