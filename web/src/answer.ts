// State of one question.

import { useRef, useState } from 'preact/hooks'

/**
 * State that belongs to one question. It is undefined as soon as another question is asked: an effect
 * that clears it could run after the next click. What is set for an earlier question is dropped.
 */
export function useAnswer<T>(question: string) {
  const [held, setHeld] = useState<{ question: string; value: T | undefined }>()
  const current = useRef(question)
  current.current = question
  const set = (value: T | undefined, of = current.current): void => {
    if (of === current.current) setHeld({ question: of, value })
  }
  return [held?.question === question ? held.value : undefined, set] as const
}
