import { parentPort, workerData } from 'node:worker_threads'
import type { Document } from './document.ts'
import type { ParsedKind } from './document-thread.ts'

/** A thread for one document: given `{kind, bytes}`, it answers with a `Document` or `{error}`. */

async function parse(kind: ParsedKind, bytes: Buffer): Promise<Document> {
  switch (kind) {
    case 'pdf':
      return (await import('./pdf.ts')).readPdf(bytes)
    case 'docx':
      return (await import('./office.ts')).readDocx(bytes)
    case 'xlsx':
      return (await import('./office.ts')).readXlsx(bytes)
    case 'html':
      return (await import('./html.ts')).readHtml(bytes.toString('utf8'))
  }
}

const { kind, bytes } = workerData as { kind: ParsedKind; bytes: Uint8Array }
try {
  parentPort?.postMessage(await parse(kind, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)))
} catch (error) {
  parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) })
}
