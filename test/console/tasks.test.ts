import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { startSampleService } from '../fixtures/sample-service.ts'
import type { Client } from '../fixtures/service-client.ts'
import { browserTest, openConsole } from './browser-fixture.ts'
import { buildConsole } from './console-build.ts'

const admin = { sub: 'ann', roles: ['admin'] }
const garage = {
  name: 'garage.md',
  mimeType: 'text/markdown',
  buffer: Buffer.from('# Garage\n\nGuests of the lighthouse park on level 7.\n'),
}

/** A task of a person without code: from the open chat to the result, and the most clicks that it takes. */
interface Task {
  name: string
  clicks: number
  prepare?: (client: Client) => Promise<unknown>
  run: (page: Page) => Promise<void>
}

const tasks: readonly Task[] = [
  {
    name: 'chat with a chart',
    clicks: 0,
    async run(page) {
      await ask(page, 'Draw a chart of the sales per region.')
      await page.getByRole('img', { name: /\.svg$/ }).waitFor()
      assert.equal(
        await page
          .getByRole('main')
          .getByRole('img', { name: /\.png$/ })
          .count(),
        0,
        'the chart is shown once',
      )
    },
  },
  {
    name: 'find the run whose tool failed, and say why',
    clicks: 3,
    prepare: (client) => client.chat('Divide 1 by zero'),
    async run(page) {
      await visit(page, 'Runs')
      await page
        .getByRole('row', { name: /1 tool error/ })
        .getByRole('link')
        .click()
      await page
        .getByRole('region', { name: 'Timeline' })
        .getByRole('button', { name: /calculator/ })
        .click()
      await page.getByText(/zero/i).nth(1).waitFor()
    },
  },
  {
    name: 'ask the question of a run again',
    clicks: 3,
    prepare: (client) => client.chat('What were the total sales by region?'),
    async run(page) {
      await visit(page, 'Runs')
      await page
        .getByRole('row', { name: /total sales/ })
        .first()
        .getByRole('link')
        .click()
      await button(page, 'Ask again').click()
      await page.locator('textarea[aria-label="Your question"]:not(:empty)').press('Enter')
      await page.getByText(/highest total amount/).waitFor()
    },
  },
  {
    name: 'add a document, and ask about it',
    clicks: 4,
    async run(page) {
      await visit(page, 'Files')
      await page.getByRole('tab', { name: 'Documents' }).click()
      const chooser = page.waitForEvent('filechooser')
      await button(page, 'Add documents').click()
      await (await chooser).setFiles(garage)
      await page.getByRole('article').filter({ hasText: 'garage.md' }).getByText('ready', { exact: true }).waitFor()
      await visit(page, 'Chat')
      await ask(page, 'Where do guests of the lighthouse park?')
      await page
        .getByRole('article', { name: 'Answer' })
        .getByText(/level 7/)
        .first()
        .waitFor()
    },
  },
  {
    name: 'ask about a file of one’s own',
    clicks: 2,
    async run(page) {
      await button(page, 'Add to the question').click()
      const chooser = page.waitForEvent('filechooser')
      await page.getByRole('menuitem', { name: 'Pictures and documents' }).click()
      await (await chooser).setFiles(garage)
      await page.getByRole('list', { name: 'Attached' }).getByText('garage.md').waitFor()
      await ask(page, 'Where do guests of the lighthouse park?')
      await page
        .getByRole('article', { name: 'Answer' })
        .getByText(/level 7/)
        .first()
        .waitFor()
    },
  },
  {
    name: 'change the instructions',
    clicks: 3,
    async run(page) {
      await visit(page, 'Agent')
      await page.getByRole('textbox', { name: 'Instructions' }).fill('Answer in one sentence.')
      await page.getByRole('list', { name: 'Changes of the draft' }).getByText('Answer in one sentence.').waitFor()
      await button(page, 'Check').click()
      await button(page, 'Save').click()
      await page.getByText('Change a field: what differs').waitFor()
    },
  },
  {
    name: 'create a key that reads only',
    clicks: 5,
    async run(page) {
      await visit(page, 'Keys')
      await button(page, 'Create key').click()
      await page.getByRole('textbox', { name: 'Caller' }).fill('carol')
      await page.getByRole('checkbox', { name: 'user' }).uncheck()
      await page.getByRole('checkbox', { name: 'viewer' }).check()
      await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
      await page.getByRole('textbox', { name: 'Key' }).waitFor()
    },
  },
  {
    name: 'say what a model costs, and see the costs of last week',
    clicks: 7,
    async run(page) {
      await visit(page, 'Agent')
      await page.getByRole('textbox', { name: 'Input' }).fill('100')
      await page.getByRole('textbox', { name: 'Output' }).fill('400')
      await button(page, 'Check').click()
      await button(page, 'Save').click()
      await page.getByText('Change a field: what differs').waitFor()
      await visit(page, 'Chat')
      await ask(page, 'Hello')
      await button(page, 'Copy answer').waitFor()
      await visit(page, 'Metrics')
      await page.getByRole('combobox', { name: 'Period' }).click()
      await page.getByRole('option', { name: 'Last 7 days' }).click()
      await page.getByRole('main').getByText(/^\$\d/).first().waitFor()
    },
  },
  {
    name: 'approve a call, and see what became of it',
    clicks: 2,
    async prepare(client) {
      const configuration = { tools: [{ name: 'calculator', approval: 'required' }] }
      await client.request('PUT', '/core/v1/agent/config', { body: { configuration } })
      await client.chat('What is 17% of 2,340?')
    },
    async run(page) {
      await visit(page, 'Approvals')
      await button(page, 'Approve').click()
      await page.getByRole('status', { name: 'Outcome of calculator' }).getByText('397.8').waitFor()
    },
  },
  {
    name: 'restore an earlier configuration',
    clicks: 4,
    prepare: (client) => client.request('PUT', '/core/v1/agent/config', { body: { configuration: { name: 'Other' } } }),
    async run(page) {
      await visit(page, 'Agent')
      await page.getByRole('tab', { name: 'History' }).click()
      await page
        .getByRole('article')
        .filter({ hasText: 'First configuration' })
        .getByRole('button', { name: /^Restore/ })
        .click()
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
      await page.getByRole('article').filter({ hasText: 'Restored' }).getByText('in use').waitFor()
    },
  },
]

browserTest('Tasks of a person without code, in the sample agent, with their clicks', async (t) => {
  const service = await startSampleService(t, { consoleFolder: await buildConsole() })
  const client = await service.as(admin)
  for (const { name, clicks, prepare, run } of tasks) {
    await t.test(name, async (t) => {
      await prepare?.(client)
      const { page, open } = await openConsole(t, { service, who: admin })
      await page.addInitScript('addEventListener("pointerdown", () => (window.clicks = (window.clicks ?? 0) + 1), true)')
      await open('/chat')
      await page.getByRole('textbox', { name: 'Your question' }).waitFor()
      await run(page)
      const count = await page.evaluate<number>('window.clicks ?? 0')
      t.diagnostic(`${count} clicks`)
      assert.ok(count <= clicks, `${count} clicks instead of ${clicks}`)
    })
  }
})

const visit = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name, exact: true }).click()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

async function ask(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Your question' }).fill(text)
  await page.keyboard.press('Enter')
}
