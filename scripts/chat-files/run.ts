import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { chatKinds, measureChats } from './measure.ts'
import { toSection } from './section.ts'

/**
 * Measures which files a chat enters, and writes the section "One chat, by file" of ARCHITECTURE.md. `--check` writes nothing, and exits with 1
 * where the section is not true.
 */
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const page = path.join(import.meta.dirname, '../../ARCHITECTURE.md')
const heading = '## One chat, by file\n'

const text = readFileSync(page, 'utf8')
const start = text.indexOf(heading) + heading.length
const end = text.indexOf('\n## ', start)
if (values.check) {
  if (!(await isTrue())) {
    console.error('"One chat, by file" in ARCHITECTURE.md is not what a chat enters: run `npm run chat-files` and commit the page.')
    process.exitCode = 1
  }
} else {
  const entered = await measureChats()
  for (const kind of chatKinds) console.log(`${kind}: ${entered[kind].files.length} files, ${entered[kind].functions} named functions`)
  writeFileSync(page, text.slice(0, start) + toSection(entered) + text.slice(end))
}

/** Compares the section. On a machine under load, a timer may fall into each of the measured chats: a difference must show twice. */
async function isTrue(): Promise<boolean> {
  for (let tries = 0; tries < 2; tries++) if (toSection(await measureChats()) === text.slice(start, end)) return true
  return false
}
