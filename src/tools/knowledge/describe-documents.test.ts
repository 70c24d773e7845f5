import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeDocuments } from './describe-documents.ts'
import type { IndexedDocument } from './document-store.ts'

function* documentsWithoutEnd(): Generator<IndexedDocument> {
  for (let number = 0; ; number++) yield { file: `${number}.md`, target: `${number}.md`, metadata: {}, headings: ['Rules', 'Rules > Pets'] }
}

test('a description looks at some documents, however many there are', () => {
  const description = describeDocuments(['rules/**'], false, documentsWithoutEnd())
  assert.match(description, /^Searches the documents rules\/\*\* and .* Headings: Rules, Pets\.$/)
})
