import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { contextOf } from '../../src/agent/react-fixture.ts'
import { normaliseText } from '../../src/agent/tool-names.ts'
import { growsLinearly } from '../fixtures/processor-time.ts'
import { fitName } from '../../src/agent/tool-names.ts'
import { toFileName } from '../../src/artifacts/file-name.ts'
import { openFilesRoot } from '../../src/files/root.ts'
import { toQueryTerms, toTerms } from '../../src/search/terms.ts'
import { nameOf } from '../../src/tools/chart/rows.ts'
import { textWidth } from '../../src/tools/chart/theme.ts'
import { createCurrentTime } from '../../src/tools/current-time.ts'
import { dependenciesOf } from '../../src/tools/dependencies-fixture.ts'
import { createListFiles, createReadFile, createWriteFile } from '../../src/tools/files/files.ts'

/** Texts on which a trimming regular expression, or the sorting of marks, takes quadratic time. */
const texts: Record<string, (parts: number) => string> = {
  dots: (parts) => `a${'.'.repeat(parts)}b`,
  blanks: (parts) => `a${' '.repeat(parts)}b`,
  marks: (parts) => `a${'\u0301\u0316'.repeat(parts)}`,
  'voiced marks': (parts) => `a${'\uff9e\u0316'.repeat(parts)}`,
  'marks in runs': (parts) => `a${`${'\u0301\u0316'.repeat(14)}\uff9e`.repeat(parts / 14)}`,
  folders: (parts) => 'a/ '.repeat(parts),
}

const readers: Record<string, (text: string) => unknown> = {
  toFileName,
  toTerms,
  toQueryTerms,
  fitName,
  textWidth: (text) => textWidth(text, 11),
  'name of a chart': (title) => nameOf({ title }),
  'name of a chart with lines': (title) => nameOf({ title: { text: [title, title] } }),
}

test('names, titles and terms of long texts take time in proportion to their length', () => {
  for (const [reader, read] of Object.entries(readers)) {
    for (const [kind, toText] of Object.entries(texts)) assert.ok(growsLinearly(toText, read), `${reader} of ${kind}`)
  }
})

test('ordinary texts are normalised as before', () => {
  const written = ['Zu\u0308rich', 'e\u0301\u0323te', '\ufb01n \u2460', '\ud55c\uad6d\uc5b4', 'ﾊﾞﾝﾄﾞ', 'שָׁלוֹם', '']
  for (const text of written) {
    for (const form of ['NFC', 'NFD', 'NFKD'] as const) assert.equal(normaliseText(text, form), text.normalize(form))
  }
  assert.equal(toFileName(`${'a'.repeat(2000)}.csv`), `${'a'.repeat(196)}.csv`)
  assert.equal(toFileName(` ..report. 2025 ... .md .. `), 'report. 2025 ... .md')
  assert.equal(toFileName(`${'folder/'.repeat(1000)}report.pdf`), 'report.pdf')
})

const spec = { name: 'tool', timeoutMs: 30_000, maxOutputCharacters: 20_000, config: {} }
const files = await openFilesRoot(tmpdir())
const deps = dependenciesOf({ files, cacheDir: tmpdir() })

test('tools refuse names and paths that are too long, and name the parameter', async () => {
  const long = 'a'.repeat(1_000_000)
  const refused = [
    [createWriteFile(spec).tool, { file_name: long, content: '' }, 'file_name'],
    [createReadFile(spec, deps).tool, { path: long }, 'path'],
    [createListFiles(spec, deps).tool, { path: long }, 'path'],
    [createCurrentTime(spec).tool, { timezone: long }, 'timezone'],
  ] as const
  for (const [tool, input, parameter] of refused) {
    assert.match((await tool.check(input)) ?? '', new RegExp(`^${parameter} must NOT have more than \\d+ characters$`))
  }
})

test('a path of megabytes is refused with a short message before it is resolved', async () => {
  const long = '../a/'.repeat(1_000_000)
  assert.ok(
    growsLinearly(
      (parts) => 'a/../'.repeat(parts),
      (path) => assert.throws(() => files.normalise(path)),
      200_000,
    ),
  )
  await assert.rejects(
    files.resolve(long),
    (error: Error) => /at most 4096 characters; this has 5000000/.test(error.message) && error.message.length < 100,
  )
  const { tool } = createReadFile(spec, deps)
  await assert.rejects(tool.execute({ path: long }, contextOf()), /at most 4096 characters/)
})
