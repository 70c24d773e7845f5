import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { defineConfig, type DefaultTheme } from 'vitepress'
import { toAnchor } from './anchors.ts'
import { describeCodeBlocks } from './code-blocks.ts'
import { highlighting } from './highlighting.ts'
import { pageGroups, readPage } from './pages.ts'
import { prefixPlaceholder, prefixPlugin, rewriteScript } from './prefix.ts'
import { searchRoles } from './search-roles.ts'
import { writeTexts } from './texts.ts'

const scriptHashes = new Set<string>()

export default defineConfig({
  title: 'Agent Core',
  description: 'One configured AI agent behind HTTP, self-hosted.',
  lang: 'en',
  base: `${prefixPlaceholder}/docs/`,
  cleanUrls: true,
  head: [['link', { rel: 'icon', href: `${prefixPlaceholder}/docs/icon.svg`, type: 'image/svg+xml' }]],
  // The switch of the theme would add a style sheet without a file, which the policy of the pages refuses.
  appearance: { disableTransition: false },
  metaChunk: true,
  srcExclude: ['decisions/**'],
  themeConfig: {
    sidebar: sidebar(),
    logo: '/icon.svg',
    nav: [
      { text: 'Try the API', link: '/api/', target: '_self', noIcon: true },
      { text: 'Console', link: '/../console/', target: '_self', noIcon: true },
    ],
    outline: { level: [2, 3] },
    externalLinkIcon: true,
    docFooter: { prev: 'Previous', next: 'Next' },
    // A mistyped letter is found in words of four letters and more.
    search: { provider: 'local', options: { miniSearch: { searchOptions: { fuzzy: 0.15 } } } },
  },
  // The default is a `style` attribute, which the policy of the pages refuses.
  contentProps: { class: 'page-content' },
  markdown: { ...highlighting, config: describeCodeBlocks, anchor: { slugify: toAnchor } },
  vite: {
    plugins: [searchRoles, prefixPlugin],
    resolve: { alias: [{ find: /^.*\/VPSocialLink\.vue$/, replacement: path.join(import.meta.dirname, 'theme/no-social-link.ts') }] },
    build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 2000 },
    logLevel: 'warn',
  },
  transformHtml(html) {
    for (const [, script] of html.matchAll(/<script(?![^>]* src=)[^>]*>([^]*?)<\/script>/g))
      scriptHashes.add(`sha256-${createHash('sha256').update(script).digest('base64')}`)
    // The style sheet of social icons is empty.
    return html.replace(/ *<link rel="preload stylesheet" href="[^"]*vp-icons\.css" as="style">\n/, '').replaceAll(/ style="[^"]*"/g, '')
  },
  async buildEnd({ outDir }) {
    for (const name of globSync('assets/chunks/metadata.*.js', { cwd: outDir })) await rewriteScript(path.join(outDir, name))
    await writeFile(path.join(outDir, 'script-hashes.json'), JSON.stringify([...scriptHashes]))
    for (const name of ['vp-icons.css', 'hashmap.json']) await rm(path.join(outDir, name))
    await writeTexts(outDir)
  },
})

/** The navigation: all pages that exist, in reading order. */
function sidebar(): DefaultTheme.SidebarItem[] {
  return pageGroups.map(({ title, pages }) => ({
    text: title,
    items: pages
      .map(readPage)
      .filter((page) => page !== undefined)
      .map((page) => ({ text: page.title, link: `/${page.name.replace(/(^|\/)index$/, '$1')}` })),
  }))
}
