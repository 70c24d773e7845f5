import PostalMime, { type Address, type Email } from 'postal-mime'
import { byLibrary, oneLine, toDocument, toMetadata, type Document } from './document.ts'
import { readHtml } from './html.ts'

/** A message within a message within others is followed so far. */
const maxNestingDepth = 32

/** Reads an e-mail: its text under its subject, with sender, recipients and date before, and the names of its attachments behind. */
export async function readEml(bytes: Buffer): Promise<Document> {
  const email = await byLibrary(() => PostalMime.parse(bytes, { maxNestingDepth }))
  if (email.headers.length === 0) throw new Error('it has no header')
  const metadata = toMetadata({ title: email.subject, from: toList([email.from ?? email.sender]), to: toList(email.to), date: email.date })
  return toDocument(
    [{ heading: oneLine(email.subject ?? ''), text: [toHead(email), toBody(email), toAttachments(email)].filter(Boolean).join('\n\n') }],
    metadata,
  )
}

function toHead({ from, sender, to, cc, date }: Email): string {
  const lines = { From: toList([from ?? sender]), To: toList(to), Cc: toList(cc), Date: date ?? '' }
  return Object.entries(lines)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

/** The plain text, or else the text of the page. */
function toBody({ text, html }: Email): string {
  const plain = text?.replaceAll('\r\n', '\n').trim()
  return plain || (html ? readHtml(html).text : '')
}

function toAttachments({ attachments }: Email): string {
  const names = attachments
    .filter(({ disposition, related }) => disposition === 'attachment' || !related)
    .map((attachment) => {
      return `- ${oneLine(attachment.filename ?? 'without a name')} (${attachment.mimeType})`
    })
  return names.length > 0 ? ['Attachments:', ...names].join('\n') : ''
}

function toList(addresses: readonly (Address | undefined)[] = []): string {
  return addresses.flatMap((address) => (address ? [toName(address)] : [])).join(', ')
}

function toName(address: Address): string {
  const name = oneLine(address.name)
  if (address.group) return `${name}: ${toList(address.group)}`
  return name ? `${name} <${address.address}>` : address.address
}
