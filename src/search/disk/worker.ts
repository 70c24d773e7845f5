import process from 'node:process'
import { messageOf } from '../../errors.ts'
import type { WorkerMessage } from '../../processes/worker-processes.ts'
import type { Answer, Question } from './messages.ts'
import { PassageFile } from './passage-file.ts'
import { searchFile } from './search-file.ts'

/** Process of the indexes on disk: answers each question in order, and exits when its channel closes. */

const files = new Map<string, PassageFile>()

function fileOf(name: string): PassageFile {
  const file = files.get(name) ?? new PassageFile(name)
  files.set(name, file)
  return file
}

function answer(question: Question): Answer {
  const file = fileOf(question.file)
  switch (question.kind) {
    case 'open':
      return { opened: file.opened() }
    case 'put':
      return { changed: file.put(question.documents) }
    case 'remove':
      return { changed: file.remove(question.ids) }
    case 'search':
      return { hits: searchFile(file, question) }
    case 'missing':
      return { texts: file.missing(question.encoder, question.limit) }
    case 'set':
      return { changed: file.setVectors(question.encoder, question.hashes, question.vectors) }
    case 'close':
      files.get(question.file)?.close()
      files.delete(question.file)
      return { hits: [] }
  }
}

process.on('message', (question: Question) => {
  try {
    process.send?.(answer(question))
  } catch (error) {
    // The file is opened again by the next process: what is in memory may differ from the file.
    process.send?.({ error: messageOf(error).slice(0, 1000) } satisfies Answer)
    process.exit(1)
  }
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true } satisfies WorkerMessage<Answer>)
