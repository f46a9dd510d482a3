import { Button, Grid, Group, Stack } from '@mantine/core'
import { IconSend } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { notify } from '../../api/calls.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { RequireApplication } from '../../components/require-application.tsx'
import { TaskAccepted } from '../../components/task-accepted.tsx'
import { useAppId, useCurrentSession } from '../../session/session.ts'
import { AudiencePanel } from './audience-panel.tsx'
import { ContentPanel } from './content-panel.tsx'
import { blankDraft, type Change, type Draft, invalidFields } from './draft.ts'
import { ExplainPanel } from './explain-panel.tsx'
import { PlatformPanel } from './platform-panel.tsx'
import { PreviewPanel } from './preview-panel.tsx'
import { requestText } from './request.ts'
import { RoutePanel } from './route-panel.tsx'

export const page = { Component: SendPage }

/** The draft is kept when another application is selected; the result of sending is not. */
function SendPage() {
  const [draft, setDraft] = useState(blankDraft)
  const change: Change = (fields) => setDraft((before) => ({ ...before, ...fields }))
  return (
    <RequireApplication>
      <Composer draft={draft} change={change} />
    </RequireApplication>
  )
}

function Composer({ draft, change }: { draft: Draft; change: Change }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const { applicationName } = useCurrentSession()
  const [submitted, setSubmitted] = useState(false)
  const [confirming, setConfirming] = useState(false)
  const sending = useMutation({
    mutationFn: () => notify(appId, requestText(draft)),
    onSettled: () => setConfirming(false),
  })
  const invalid = invalidFields(draft)
  const shown = submitted ? invalid : invalid.filter((field) => field === 'ext')

  function submit() {
    setSubmitted(true)
    if (invalid.length > 0) return
    if (draft.audienceKind === 'all') setConfirming(true)
    else sending.mutate()
  }

  return (
    <Stack>
      <PageHeader title={t('send.title')} lead={t('send.lead')}>
        <Button
          variant="default"
          onClick={() => change({ title: t('send.exampleTitle'), body: t('send.exampleBody') })}
        >
          {t('send.example')}
        </Button>
      </PageHeader>
      <Grid>
        <Grid.Col span={{ base: 12, md: 7, lg: 8 }}>
          <form
            onSubmit={(event) => {
              event.preventDefault()
              submit()
            }}
          >
            <Stack>
              <ContentPanel draft={draft} change={change} invalidExt={shown.includes('ext')} />
              <AudiencePanel draft={draft} change={change} missing={shown.includes('audience')} />
              <RoutePanel draft={draft} change={change} />
              <PlatformPanel draft={draft} change={change} />
              {sending.isError && <ErrorAlert error={sending.error} />}
              {sending.isSuccess && <TaskAccepted taskId={sending.data.task_id} />}
              <Group justify="flex-end">
                <Button
                  type="submit"
                  size="md"
                  loading={sending.isPending}
                  leftSection={<IconSend size={18} aria-hidden />}
                >
                  {t('send.submit')}
                </Button>
              </Group>
            </Stack>
          </form>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5, lg: 4 }}>
          <Stack className="aside">
            <PreviewPanel draft={draft} />
            <ExplainPanel text={(pushToken) => requestText(draft, pushToken)} />
          </Stack>
        </Grid.Col>
      </Grid>
      <ConfirmDialog
        opened={confirming}
        title={t('send.confirmTitle')}
        text={t('send.confirmText', { name: applicationName })}
        button={t('send.confirmButton')}
        busy={sending.isPending}
        onConfirm={() => sending.mutate()}
        onClose={() => setConfirming(false)}
      />
    </Stack>
  )
}
