import { shownTaskStates } from '@herald/domain'
import { Button, Group, NativeSelect, SegmentedControl, Stack, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { TaskFilter } from '../../calculations/task-filter.ts'
import { useLabels } from '../../i18n/labels.ts'

type Props = { filter: TaskFilter; onChange(changed: Partial<TaskFilter>): void; children: ReactNode }

const blank = { title: '', campaign: '', from: '', to: '', min: '', actor: '' }
type Typed = typeof blank

/** Choices apply at once; what is typed by Enter or the button, not by each letter. */
export function FilterForm({ filter, onChange, children }: Props) {
  const { t } = useTranslation()
  const { taskState } = useLabels()
  const { title, campaign, from, to, min, actor } = filter
  const [typed, setTyped] = useState<Typed>({ title, campaign, from, to, min, actor })
  const before = useRef(typed)
  // The URL may change by other means, such as the browser's Back. Only what it changed: it arrives late, and something may have been typed
  // into another field by then.
  useEffect(() => {
    const current: Typed = { title, campaign, from, to, min, actor }
    const names = Object.keys(blank) as (keyof Typed)[]
    const changed = names.filter((name) => current[name] !== before.current[name])
    before.current = current
    setTyped((last) => ({ ...last, ...Object.fromEntries(changed.map((name) => [name, current[name]])) }))
  }, [title, campaign, from, to, min, actor])
  const input = (name: keyof Typed) => ({
    label: t(`tasks.filters.${name}`),
    value: typed[name],
    onChange: ({ currentTarget: { value } }: { currentTarget: HTMLInputElement }) =>
      setTyped((last) => ({ ...last, [name]: value })),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onChange(Object.fromEntries(Object.entries(typed).map(([name, value]) => [name, value.trim()])))
  }
  const isBlank = Object.values(typed).every((value) => value === '') && filter.state === ''
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="flex-end">
        <SegmentedControl
          aria-label={t('tasks.which')}
          value={filter.all}
          onChange={(all) => onChange({ all })}
          data={[
            { value: '', label: t('tasks.broadcasts') },
            { value: '1', label: t('tasks.all') },
          ]}
        />
        {children}
      </Group>
      <form onSubmit={submit}>
        <Group align="flex-end" gap="sm">
          <NativeSelect
            label={t('tasks.state')}
            value={filter.state}
            onChange={({ currentTarget }) => onChange({ state: currentTarget.value })}
            data={[
              { value: '', label: t('tasks.anyState') },
              ...shownTaskStates.map((value) => ({ value, label: taskState(value) })),
            ]}
          />
          <TextInput {...input('title')} maxLength={256} />
          <TextInput {...input('campaign')} maxLength={64} w={150} />
          <TextInput {...input('from')} type="date" w={150} />
          <TextInput {...input('to')} type="date" w={150} />
          <TextInput {...input('min')} inputMode="numeric" pattern="[1-9][0-9]{0,8}" w={120} />
          <TextInput {...input('actor')} w={130} maxLength={256} />
          <Button type="submit" variant="default">
            {t('tasks.filter')}
          </Button>
          {!isBlank && (
            <Button
              variant="subtle"
              onClick={() => {
                setTyped(blank)
                onChange({ ...blank, state: '' })
              }}
            >
              {t('tasks.clearFilter')}
            </Button>
          )}
        </Group>
      </form>
    </Stack>
  )
}
