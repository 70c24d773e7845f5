import { useCallback, useEffect, useRef, useState, type RefObject } from 'react'

/** Distance from the end, in pixels, that still counts as the end. */
const slack = 60

/** Keeps a scrolling element at the end while the content grows, unless the reader has scrolled up. While `isPaused`, the element does not move. */
export function useStickToEnd(isPaused: boolean): {
  scroller: RefObject<HTMLDivElement | null>
  isAtEnd: boolean
  scrollToEnd: () => void
} {
  const scroller = useRef<HTMLDivElement>(null)
  const sticks = useRef(true)
  const [isAtEnd, setIsAtEnd] = useState(true)
  const paused = useRef(isPaused)
  paused.current = isPaused

  const scrollToEnd = useCallback(() => {
    sticks.current = true
    setIsAtEnd(true)
    const element = scroller.current
    if (element) element.scrollTop = element.scrollHeight
  }, [])

  useEffect(() => {
    const element = scroller.current
    if (!element) return
    let lastTop = element.scrollTop
    const onScroll = () => {
      if (paused.current) return
      const isNearEnd = element.scrollHeight - element.scrollTop - element.clientHeight < slack
      // Growing content moves the end away without moving the reader: only scrolling up lets go.
      if (isNearEnd) sticks.current = true
      else if (element.scrollTop < lastTop) sticks.current = false
      lastTop = element.scrollTop
      setIsAtEnd(isNearEnd || sticks.current)
    }
    const observer = new ResizeObserver(() => {
      if (paused.current) return
      if (sticks.current) element.scrollTop = element.scrollHeight
      else onScroll()
    })
    element.addEventListener('scroll', onScroll, { passive: true })
    for (const child of element.children) observer.observe(child)
    observer.observe(element)
    return () => {
      element.removeEventListener('scroll', onScroll)
      observer.disconnect()
    }
  }, [])

  return { scroller, isAtEnd, scrollToEnd }
}
