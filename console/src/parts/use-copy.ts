import { useEffect, useState } from 'react'

const shownMs = 1500

/**
 * Copies a text to the clipboard. `copied` is true for a moment after it. Over plain http a page has no `navigator.clipboard`; there
 * the text is copied from a field that is selected and removed at once.
 */
export function useCopy(): { copied: boolean; copy: (text: string) => void } {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), shownMs)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = (text: string): void => {
    if (!isSecureContext) return setCopied(copySelected(text))
    navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => setCopied(copySelected(text)),
    )
  }
  return { copied, copy }
}

/** Returns whether the browser has copied the text. The focus returns to where it was. */
function copySelected(text: string): boolean {
  const before = document.activeElement
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'visually-hidden'
  // A dialog keeps the focus inside it, so the field stands there.
  const parent = before?.closest('[role="dialog"]') ?? document.body
  parent.append(field)
  field.select()
  // oxlint-disable-next-line no-deprecated -- the only way to copy without a secure context
  const isCopied = document.execCommand('copy')
  field.remove()
  if (before instanceof HTMLElement) before.focus()
  return isCopied
}
