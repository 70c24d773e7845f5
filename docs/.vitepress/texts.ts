import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pageGroups, readPage, type Page } from './pages.ts'

const source = path.join(import.meta.dirname, '..')

/** Writes each page as Markdown beside its HTML, and `llms.txt` and `llms-full.txt`: the list and the text of all pages, for programs. */
export async function writeTexts(target: string): Promise<void> {
  const groups = pageGroups.map(({ title, pages }) => ({ title, pages: pages.map(readPage).filter((page) => page !== undefined) }))
  const home = readPage('index')!
  const pages = [home, ...groups.flatMap(({ pages }) => pages)]
  for (const page of pages) await write(target, `${page.name}.md`, textOf(page))
  const list = groups
    .filter(({ pages }) => pages.length > 0)
    .map(
      ({ title, pages }) =>
        `## ${title}\n\n${pages.map(({ name, title, description }) => `- [${title}](${name}.md): ${description}`).join('\n')}\n`,
    )
  await write(target, 'llms.txt', `# ${home.title}\n\n> ${home.description}\n\n${list.join('\n')}`)
  await write(target, 'llms-full.txt', pages.map(textOf).join('\n\n'))
}

/** The Markdown of a page without its frontmatter and comments. */
function textOf({ name }: Page): string {
  const text = readFileSync(path.join(source, `${name}.md`), 'utf8')
  return `${text
    .replace(/^---\n[^]*?\n---\n/, '')
    .replace(/<!--[^]*?-->\n?/g, '')
    .replace(/<script setup>[^]*?<\/script>\n?|^<\/?div[^>]*>\n|^<\w+ \/>$/gm, '')
    .trim()}\n`
}

async function write(target: string, name: string, text: string): Promise<void> {
  const file = path.join(target, name)
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, text)
}
