import assert from 'node:assert/strict'
import path from 'node:path'
import { browserTest, openConsole } from '../console/browser-fixture.ts'
import { startPrefixProxy } from '../fixtures/prefix-proxy.ts'
import { startService } from '../fixtures/service.ts'
import { buildDocumentation } from '../../scripts/build/documentation.ts'

const root = path.join(import.meta.dirname, '../..')
const prefix = '/team/agents'

browserTest('Documentation in a browser: read, search, dark, narrow, all under a prefix', async (t) => {
  const proxy = await startPrefixProxy(t, { prefix, strips: true })
  const service = await startService(t, { script: {}, documentationFolder: await buildDocumentation(root) })
  proxy.target(service.url)
  const url = proxy.origin + prefix
  // The fixture fails the test at the first request to another host, and at the first violation of the policy.
  const { page, checkAccessibility } = await openConsole(t, { service: { ...service, url }, who: null })
  const paths: string[] = []
  page.on('request', (request) => paths.push(new URL(request.url()).pathname))

  await page.goto(`${url}/docs/`)
  await page.getByRole('heading', { name: 'One AI agent behind HTTP' }).waitFor()
  await checkAccessibility()
  await page.getByRole('link', { name: 'Approval', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Approval' }).waitFor()
  assert.equal(new URL(page.url()).pathname, `${prefix}/docs/concepts/approval`)
  const drawing = page.getByRole('img', { name: /A run stops before a call/ })
  const width = await drawing.evaluate(async (image: { decode(): Promise<void>; naturalWidth: number }) => {
    await image.decode()
    return image.naturalWidth
  })
  assert.ok(width > 0, 'the drawing is shown')
  await checkAccessibility()

  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('tenant')
  await page.getByRole('option').first().waitFor()
  await checkAccessibility()
  await page.getByRole('option', { name: 'Tenant', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Tenant' }).waitFor()

  await page.emulateMedia({ colorScheme: 'dark' })
  await page.locator('html.dark').waitFor()
  await checkAccessibility()

  await page.setViewportSize({ width: 375, height: 700 })
  await page.getByRole('button', { name: 'Menu', exact: true }).click()
  await page.getByRole('link', { name: 'Streaming and resuming', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Streaming and resuming' }).waitFor()
  assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 375, 'nothing is wider than the screen')
  await checkAccessibility()
  await page.reload()
  await page.getByRole('heading', { level: 1, name: 'Streaming and resuming' }).waitFor()

  // The proxy is closed before the browser, whose page would report that.
  await page.close()
  assert.deepEqual(
    paths.filter((path) => !path.startsWith(`${prefix}/docs/`)),
    [],
  )
})
