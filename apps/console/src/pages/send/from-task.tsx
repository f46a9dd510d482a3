import { Alert, Anchor, Button, Group, List, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { readRequest } from '../../api/calls.ts'
import { AppLink } from '../../components/app-link.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { useAppId } from '../../session/session.ts'
import { blankDraft, type Draft } from './draft.ts'
import { draftOfRequest } from './draft-of-request.ts'
import { fieldOfPath } from './fields.ts'
import { useFieldLabel } from './use-problems.ts'

type Props = { hasDraft: boolean; onFill(draft: Draft): void }
type Filled = { id: string; leftOut: string[]; inGroup: boolean; tokensLost: number }

/** Fills the form with what a task sent: `?from=<task id>`. Asks first if there is a draft already. */
export function FromTask({ hasDraft, onFill }: Props) {
  const { t } = useTranslation()
  const appId = useAppId()
  const [params, setParams] = useSearchParams()
  const from = params.get('from')
  const [filled, setFilled] = useState<Filled>()
  const query = useQuery({
    queryKey: ['request', appId, from],
    queryFn: () => readRequest(appId, Number(from)),
    enabled: from !== null && /^\d{1,16}$/.test(from),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const { data } = query
  const finish = () => setParams({}, { replace: true })
  const fill = () => {
    if (!data?.body || from === null) return
    const { draft, leftOut } = draftOfRequest(data.body, Date.now())
    const inGroup = data.group_id !== null
    // The console sends to the whole application: the same audience would reach people outside the group.
    onFill(inGroup ? { ...draft, audienceKind: 'tag', audience: blankDraft.audience } : draft)
    setFilled({ id: from, leftOut, inGroup, tokensLost: data.tokens_lost })
    finish()
  }
  const fillsAtOnce = typeof data?.body === 'string' && !hasDraft
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the request was read
  useEffect(() => {
    if (fillsAtOnce) fill()
  }, [fillsAtOnce])
  if (query.isError) return <ErrorAlert error={query.error} retry={query.refetch} />
  if (from !== null && data?.body === null)
    return (
      <Alert role="alert" color="orange" variant="light">
        {t('from.recall', { id: from })}
      </Alert>
    )
  if (from !== null && data && hasDraft)
    return (
      <Alert role="alert" color="orange" variant="light" title={t('from.hasDraft')}>
        <Stack gap="xs" align="flex-start">
          <Text size="sm">{t('from.replaceText', { id: from })}</Text>
          <Group gap="xs">
            <Button size="xs" onClick={fill}>
              {t('from.replace')}
            </Button>
            <Button size="xs" variant="default" onClick={finish}>
              {t('from.keep')}
            </Button>
          </Group>
        </Stack>
      </Alert>
    )
  // Gone with the draft: it was sent or cleared.
  return filled && hasDraft ? <FilledAlert {...filled} /> : null
}

function FilledAlert({ id, leftOut, inGroup, tokensLost }: Filled) {
  const { t } = useTranslation()
  return (
    <Alert role="status" color="herald" variant="light" title={t('from.filled', { id })}>
      <Text size="sm">
        {t('from.filledText')}{' '}
        <Anchor component={AppLink} to={`/tasks/${id}`} size="sm">
          {t('task.title', { id })}
        </Anchor>
      </Text>
      {inGroup && <Text size="sm">{t('from.group')}</Text>}
      {tokensLost > 0 && <Text size="sm">{t('from.tokens', { n: tokensLost })}</Text>}
      {leftOut.length > 0 && (
        <>
          <Text size="sm">{t('from.leftOut')}</Text>
          <List size="sm">
            {leftOut.map((path) => (
              <LeftOut key={path} path={path} />
            ))}
          </List>
        </>
      )}
    </Alert>
  )
}

/** A path of the request, with the label of its field if the form has one. */
function LeftOut({ path }: { path: string }) {
  const { t } = useTranslation()
  const labelOf = useFieldLabel()
  const field = fieldOfPath(path, blankDraft)
  return (
    <List.Item data-from={field ? undefined : 'api'}>
      {field ? t('app.aside', { name: labelOf(field), value: path }) : path}
    </List.Item>
  )
}
