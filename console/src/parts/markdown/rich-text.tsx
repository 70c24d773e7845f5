import { memo, useEffect, useMemo, useRef, useState } from 'react'
import ReactMarkdown, { type Options } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { readFence, splitBlocks, type Block } from './blocks.ts'
import { CodeBlock } from './code-block.tsx'
import { components, toSafeAddress } from './elements.tsx'
import { PlainOnFault } from './plain-on-fault.tsx'
import styles from './markdown.module.css'

export interface RichTextProps {
  text: string
}

/** Blocks that are rendered at once; other blocks follow in later frames, so that a long text does not block the page. */
const blocksPerFrame = 24
/** Blocks that are rendered without being asked for. */
const maxBlocks = 1500
const plugins: Options['remarkPlugins'] = [[remarkGfm, { singleTilde: false }]]

export function RichText({ text }: RichTextProps) {
  const blocks = useBlocks(text)
  const [extra, setExtra] = useState(0)
  const count = useProgress(Math.min(blocks.length, maxBlocks + extra))
  const hiddenCount = blocks.length - maxBlocks - extra
  return (
    <div className={styles.markdown}>
      {blocks.slice(0, count).map((block) => (
        <BlockView key={block.start} text={block.text} kind={block.kind} />
      ))}
      {hiddenCount > 0 && (
        <button type="button" className={styles.more} onClick={() => setExtra(extra + maxBlocks)}>
          Show more of this text ({hiddenCount.toLocaleString('en')} parts)
        </button>
      )}
    </div>
  )
}

function useBlocks(text: string): readonly Block[] {
  const before = useRef<{ text: string; blocks: Block[] }>({ text: '', blocks: [] })
  return useMemo(() => {
    const isContinued = text.startsWith(before.current.text)
    const blocks = splitBlocks(text, isContinued ? before.current.blocks : [])
    before.current = { text, blocks }
    return blocks
  }, [text])
}

/** Number of blocks to render: grows to `target` by a few in each frame. */
function useProgress(target: number): number {
  const [count, setCount] = useState(Math.min(target, blocksPerFrame))
  useEffect(() => {
    if (count >= target) return
    const frame = requestAnimationFrame(() => setCount(Math.min(target, count + blocksPerFrame)))
    return () => cancelAnimationFrame(frame)
  }, [count, target])
  return Math.min(count, target)
}

const BlockView = memo(function BlockView({ text, kind }: Pick<Block, 'text' | 'kind'>) {
  if (kind === 'plain') return <div className={styles.raw}>{text}</div>
  if (kind === 'code') return <CodeBlock {...readFence(text)} />
  return (
    <PlainOnFault text={text}>
      <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={toSafeAddress}>
        {text}
      </ReactMarkdown>
    </PlainOnFault>
  )
})
